"""What finding a backend costs: which modules its registration loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = sorted(path.parent.name for path in (Path(__file__).parent.parent / "plugins").glob("*/pyproject.toml"))
HEAVY = {
    "asyncio", "boto3", "botocore", "cattrs", "click", "lance", "lance_namespace", "numpy", "opentelemetry", "pandas",
    "pyarrow", "pydantic", "requests", "rich", "ssl", "thrift", "urllib3",
}  # fmt: skip
LOADED = "import sys, json; print(json.dumps(sorted(sys.modules)))"


def loaded_by(script: str) -> set[str]:
    """The modules of a fresh interpreter after a script."""
    done = subprocess.run([sys.executable, "-c", f"{script}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_there_are_plugins_to_look_at():
    assert {"dir", "glue", "hive3", "iceberg", "polaris", "unity"} <= set(PLUGINS)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_finding_a_backend_loads_its_registration_alone(plugin):
    loaded = loaded_by(f"import lance_ns.registry; lance_ns.registry.find({plugin!r})")

    own = {name for name in loaded if name.startswith("lance_ns_")}
    assert own == {f"lance_ns_{plugin}"}
    assert packages(loaded) & HEAVY == set()
    assert "lance_ns.models" not in loaded


@pytest.mark.parametrize("plugin", PLUGINS)
def test_reading_the_properties_of_a_backend_loads_no_client_library(plugin):
    loaded = loaded_by(
        "from lance_ns import config, registry\n"
        f"backend = registry.find({plugin!r}); config.describe(registry.part(backend, backend.config))"
    )

    assert packages(loaded) & HEAVY == set()


def test_listing_all_backends_loads_no_client_library():
    listing = "import sys\nsys.argv = ['lance-ns', 'backends']\nfrom lance_ns.cli import main\n"
    loaded = loaded_by(f"{listing}try:\n    main()\nexcept SystemExit:\n    pass")

    assert {f"lance_ns_{plugin}" for plugin in PLUGINS} <= loaded
    assert packages(loaded) & (HEAVY - {"click"}) == set()
