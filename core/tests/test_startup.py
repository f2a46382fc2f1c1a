"""What an import costs: which modules it loads, and which rules keep it so."""

import ast
import json
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import lance_ns
from lance_ns import hookspecs, models
from lance_ns.capabilities import OPERATIONS

SOURCE = Path(lance_ns.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = {
    "pyarrow", "lance", "lance_namespace", "pydantic", "botocore", "thrift", "click", "rich", "cattrs", "urllib3",
    "pandas", "numpy", "opentelemetry", "tomllib", "asyncio",
}  # fmt: skip
PYLANCE = {"lance", "lance_namespace", "pyarrow"}
LOADED = "; import sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
FIRST_STEPS = {
    "the package": "import lance_ns",
    "connect": "import lance_ns; lance_ns.connect",
    "an error class": "import lance_ns; lance_ns.TableNotFound",
    "a plugin's hooks": "from lance_ns.hookspecs import Backend, hookimpl; from lance_ns.capabilities import BASIC",
    "a plugin's configuration": "from lance_ns.config import StorageProperties, prop, properties",
    "every public name": "import lance_ns; [getattr(lance_ns, name) for name in lance_ns.__all__]",
    "the audit log": "import lance_ns.audit",
    "a connection and a call": (
        "from lance_ns import models as m, hookspecs as h, config, namespace\n"
        "class Quick(h.Operations):\n"
        "    @h.hookimpl\n"
        "    def describe_table(self, request): return m.DescribeTableResponse()\n"
        "backend = h.Backend(name='x', summary='', hookspec=1, config=config.StorageProperties,\n"
        "                    factory=lambda config: Quick(), capabilities={'describe_table'})\n"
        "namespace.Namespace(backend, config.StorageProperties()).describe_table('t')"
    ),
}


# --- loaded modules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", FIRST_STEPS.values(), ids=FIRST_STEPS)
def test_no_heavy_package_is_loaded_before_it_is_needed(run_python, step):
    loaded = set(json.loads(run_python(f"{step}\npass{LOADED}")))

    assert "lance_ns" in loaded
    assert loaded & HEAVY == set()


def test_importing_the_package_loads_none_of_its_own_modules_but_its_version(run_python):
    script = "import lance_ns, sys; print(sorted(name for name in sys.modules if name.startswith('lance_ns')))"

    assert run_python(script).strip() == "['lance_ns', 'lance_ns.version']"


def test_importing_the_package_needs_neither_pluggy_nor_attrs(run_python):
    assert set(json.loads(run_python(f"import lance_ns{LOADED}"))) & {"pluggy", "attrs", "attr"} == set()


def test_finding_a_backend_loads_no_models(run_python):
    script = "import sys, lance_ns.registry, lance_ns.hookspecs; print('lance_ns.models' in sys.modules)"

    assert run_python(script).strip() == "False"


# --- public names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", lance_ns.__all__)
def test_every_public_name_resolves(name):
    assert getattr(lance_ns, name) is not None
    assert name in dir(lance_ns)


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'lance_ns' has no attribute 'conect'"):
        lance_ns.conect  # noqa: B018


def test_type_checkers_and_the_lazy_imports_see_the_same_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen_by_checkers = {
        alias.asname or alias.name: statement.module.removeprefix("lance_ns.")
        for statement in checked.body
        for alias in statement.names
    }

    assert sorted(lance_ns.__all__) == sorted(["__version__", *seen_by_checkers])
    assert {name: lance_ns._HOME_OF.get(name, "errors") for name in seen_by_checkers} == seen_by_checkers
    assert len(set(lance_ns.__all__)) == len(lance_ns.__all__)


def test_every_error_class_is_public(error_classes):
    assert {kind.__name__ for kind in error_classes} <= set(lance_ns.__all__)


def test_the_version_is_that_of_the_installed_distribution():
    from importlib.metadata import version

    assert lance_ns.__version__ == version("lance-ns-core")


# --- rules of imports ----------------------------------------------------------------------------------------------


def imports(module: Path, *, at_import: bool) -> set[str]:
    """The packages that a module imports: anywhere, or only by being imported itself."""
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(module.read_text())]
    while pending:
        node = pending.pop()
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_import and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found.add((node.module or "").partition(".")[0])
        pending += ast.iter_child_nodes(node)
    return found


def test_the_rules_look_at_every_module():
    assert {"namespace.py", "bridge.py", "app.py"} <= {module.name for module in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_core_knows_no_plugin(module):
    """Not even inside of a function, nor by a name in a text."""
    assert not {name for name in imports(module, at_import=False) if name.startswith("lance_ns_")}
    plugins = {"unity", "polaris", "iceberg", "hive3", "glue", "conformance", "spark", "dir"}
    strings = {
        node.value
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not {text for text in strings if text.partition(".")[0] in {f"lance_ns_{plugin}" for plugin in plugins}}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_pylance_is_imported_in_its_own_room_only(module):
    room = module.relative_to(SOURCE).parts[0]

    if room != "lance":
        assert not imports(module, at_import=True) & PYLANCE


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_heavy_packages_are_imported_where_they_are_needed(module):
    room = module.relative_to(SOURCE).parts[0]
    allowed = {"lance": PYLANCE, "cli": {"click"}, "otel.py": {"opentelemetry"}}.get(room, set())

    assert imports(module, at_import=True) & HEAVY <= allowed


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_a_module_imports_only_what_the_distribution_requires(module):
    """The standard library, the four requirements, and in their rooms what the extras bring."""
    required = {"lance_ns", "pluggy", "attrs", "cattrs", "urllib3"}
    extras = PYLANCE | {"click", "opentelemetry"}

    assert imports(module, at_import=False) - required - extras <= sys.stdlib_module_names


# --- hooks ---------------------------------------------------------------------------------------------------------


def test_every_operation_has_a_documented_hook_with_an_example():
    hooks = {name: hook for name, hook in vars(hookspecs.Operations).items() if not name.startswith("_")}

    assert set(hooks) == OPERATIONS == set(models.REQUESTS)
    for name, hook in hooks.items():
        assert hook.lance_ns_spec["firstresult"], name
        assert "@hookimpl" in hook.__doc__, name
        assert f"def {name}(self, request):" in hook.__doc__, name


@pytest.mark.parametrize("name", sorted(name for name in vars(hookspecs.Operations) if not name.startswith("_")))
def test_the_types_of_a_hook_are_those_of_its_request(name):
    types = get_type_hints(getattr(hookspecs.Operations, name), localns={"m": models})

    assert types == {"request": models.REQUESTS[name], "return": models.REQUESTS[name].response}


def test_an_operation_that_is_not_implemented_says_so_when_it_is_called_directly():
    with pytest.raises(NotImplementedError):
        hookspecs.Operations().list_tables(None)
