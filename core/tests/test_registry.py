"""Finding backends among installed distributions: real metadata in a directory on the path."""

import importlib
import re
import sys
from textwrap import dedent

import pytest

import lance_ns
from lance_ns import registry
from lance_ns.errors import Internal, InvalidInput, LanceNsError, Unsupported

PLUGIN = """
    from lance_ns.capabilities import BASIC
    from lance_ns.config import StorageProperties
    from lance_ns.hookspecs import Backend, hookimpl

    @hookimpl
    def lance_ns_backend():
        return Backend(**{{**dict(
            name={name!r}, summary="A catalog of {module}", hookspec=1, config=StorageProperties,
            factory="{module}_backend:Nothing", capabilities=BASIC,
        ), **{changes!r}}})
"""
BROKEN = {
    "a missing module": ("import no_such_sdk", Internal, "cannot be imported: ModuleNotFoundError: .*no_such_sdk"),
    "an error on import": ("1 / 0", Internal, "cannot be imported: ZeroDivisionError"),
    "a syntax error": ("def", Internal, "cannot be imported: SyntaxError"),
    "an exit on import": ("raise SystemExit(3)", Internal, "cannot be imported: SystemExit"),
    "no hook": ("x = 1", Internal, "registers NoneType, not a Backend.*lance_ns_backend"),
    "a hook without marker": ("def lance_ns_backend(): return 1", Internal, "registers NoneType"),
    "a hook that returns None": (
        "from lance_ns.hookspecs import hookimpl\n@hookimpl\ndef lance_ns_backend(): return None",
        Internal,
        "registers NoneType",
    ),
    "a hook that returns something else": (
        "from lance_ns.hookspecs import hookimpl\n@hookimpl\ndef lance_ns_backend(): return 'acme'",
        Internal,
        "registers str, not a Backend",
    ),
    "a hook that raises": (
        "from lance_ns.hookspecs import hookimpl\n@hookimpl\ndef lance_ns_backend(): raise KeyError('oops')",
        Internal,
        "fails to register: KeyError: 'oops'",
    ),
    "a hook that wants an argument": (
        "from lance_ns.hookspecs import hookimpl\n@hookimpl\ndef lance_ns_backend(config): return None",
        Internal,
        "config",
    ),
    "an unknown capability": (
        PLUGIN.format(name="acme", module="x", changes={"capabilities": ["fly"]}),
        Internal,
        "fails to register: ValueError: unknown capabilities: fly",
    ),
    "another name": (
        PLUGIN.format(name="other", module="x", changes={}),
        Internal,
        "registers the name 'other' under the entry point 'acme'",
    ),
    "a version that is no number": (
        PLUGIN.format(name="acme", module="x", changes={"hookspec": "1"}),
        LanceNsError,
        "hookspec",
    ),
    "a newer version of the hooks": (
        PLUGIN.format(name="acme", module="x", changes={"hookspec": 2}),
        Unsupported,
        "lance-ns-acme was written for hookspec 2, this core has 1.*upgrade lance-ns-core",
    ),
    "an older version of the hooks": (
        PLUGIN.format(name="acme", module="x", changes={"hookspec": 0}),
        Unsupported,
        "lance-ns-acme was written for hookspec 0, this core has 1.*upgrade lance-ns-acme",
    ),
}


def module_of(distribution: str) -> str:
    return "made_for_a_test_" + re.sub("[^a-z]", "_", distribution.lower())


class Site:
    """A directory of installed distributions, the only one on the path that holds any of ours."""

    def __init__(self, path, monkeypatch) -> None:
        self.path = path
        self._monkeypatch = monkeypatch

    def install(self, distribution, name, source=None, *, group="lance_ns", module=None, version="1.2", **changes):
        """Install a distribution with one entry point and, under a module of its own, what that names."""
        module = module or module_of(distribution)
        info = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
        source = PLUGIN.format(name=name, module=module, changes=changes) if source is None else source
        (self.path / f"{module.partition(':')[0]}.py").write_text(dedent(source))
        self._monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()


@pytest.fixture
def site(monkeypatch, tmp_path):
    """No backend is installed but what a test installs; what it imports is forgotten afterwards."""
    importlib.import_module("lance_ns.profiles")  # while the path still leads to it, wherever it is installed
    before = set(sys.modules)
    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(entry for entry in sys.path if "site-packages" not in entry)])
    importlib.invalidate_caches()
    yield Site(tmp_path, monkeypatch)
    for name in set(sys.modules) - before:
        if name.startswith("made_for_a_test"):
            del sys.modules[name]


def problems() -> dict[str, LanceNsError | None]:
    return {each.name: each.problem for each in registry.installed()}


# --- finding -------------------------------------------------------------------------------------------------------


def test_a_backend_is_found_by_the_name_of_its_entry_point(site):
    site.install("lance-ns-acme", "acme")

    backend = registry.find("acme")

    assert (backend.name, backend.summary) == ("acme", f"A catalog of {module_of('lance-ns-acme')}")


def test_finding_imports_the_plugin_and_neither_its_backend_nor_others(site):
    site.install("lance-ns-acme", "acme")
    site.install("lance-ns-other", "other", "raise RuntimeError('must not be imported')")

    registry.find("acme")

    assert module_of("lance-ns-acme") in sys.modules
    assert f"{module_of('lance-ns-acme')}_backend" not in sys.modules


def test_a_backend_is_loaded_once(site):
    site.install("lance-ns-acme", "acme")

    assert registry.find("acme") is registry.find("acme")


def test_the_distribution_of_a_backend_may_have_any_name(site):
    site.install("acme-catalog", "acme")

    assert registry.find("acme").name == "acme"
    assert problems() == {"acme": None}


def test_an_unknown_backend_names_the_distribution_to_install_and_what_is_installed(site):
    site.install("lance-ns-acme", "acme")
    site.install("lance-ns-best", "best")

    with pytest.raises(InvalidInput, match="backend 'glue' is not installed") as caught:
        lance_ns.connect("glue")
    assert "pip install lance-ns-glue" in caught.value.hint
    assert "installed: acme, best" in caught.value.hint


def test_without_any_backend_that_is_said(site):
    with pytest.raises(InvalidInput, match="backend 'dir' is not installed") as caught:
        lance_ns.connect()
    assert "installed: none" in caught.value.hint


@pytest.mark.parametrize(
    "name",
    ["", " ", "../x", "a\0b", "acme:x", "-", 5, ["acme"], {"backend": "acme", "token": "canary"}, b"acme"],
    ids=repr,
)
def test_whatever_is_no_name_of_a_backend_is_refused(site, name):
    site.install("lance-ns-acme", "acme")

    with pytest.raises(InvalidInput) as caught:
        lance_ns.connect(name)
    assert "canary" not in str(caught.value)


# --- broken ones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "kind", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_says_what_is_wrong_with_which_distribution(site, source, kind, words):
    site.install("lance-ns-acme", "acme", source)

    with pytest.raises(kind, match=words) as caught:
        registry.find("acme")
    assert caught.value.backend == "acme"
    assert "lance-ns-acme" in str(caught.value)


@pytest.mark.parametrize(("source", "kind", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_does_not_disturb_the_others(site, source, kind, words):
    site.install("lance-ns-acme", "acme", source)
    site.install("lance-ns-best", "best")

    found = problems()

    assert found["best"] is None
    assert isinstance(found["acme"], kind)
    assert registry.find("best").name == "best"


def test_a_broken_plugin_is_tried_again(site):
    plugin = dedent(PLUGIN.format(name="acme", module="x", changes={}))
    site.install("lance-ns-acme", "acme", "import made_for_a_test_sdk\n" + plugin)
    with pytest.raises(Internal, match="made_for_a_test_sdk"):
        registry.find("acme")

    (site.path / "made_for_a_test_sdk.py").write_text("")
    importlib.invalidate_caches()

    assert registry.find("acme").name == "acme"


@pytest.mark.parametrize("part", ["config", "factory"])
@pytest.mark.parametrize(
    ("reference", "words"),
    [("made_for_a_test_absent:Thing", "made_for_a_test_absent"), ("lance_ns.config:NoSuchThing", "NoSuchThing")],
    ids=["module", "attribute"],
)
def test_a_part_that_cannot_be_imported_is_an_error_of_the_backend(site, part, reference, words):
    site.install("lance-ns-acme", "acme", **{part: reference})

    with pytest.raises(Internal, match=words) as caught:
        lance_ns.connect("acme")
    assert caught.value.backend == "acme"


# --- several claims ------------------------------------------------------------------------------------------------


def test_a_name_that_two_distributions_claim_is_refused_with_both(site):
    site.install("acme-catalog", "acme")
    site.install("another-acme", "acme")

    with pytest.raises(InvalidInput, match="backend 'acme' is claimed by acme-catalog and another-acme"):
        registry.find("acme")
    listed = list(registry.installed())
    assert [(each.name, each.distribution, each.backend) for each in listed] == [
        ("acme", "acme-catalog", None),
        ("acme", "another-acme", None),
    ]
    assert all("claimed by acme-catalog and another-acme" in str(each.problem) for each in listed)


@pytest.mark.parametrize("owner", ["lance-ns-acme", "lance_ns_acme", "Lance-NS.Acme"])
def test_the_distribution_that_owns_a_name_is_preferred_however_it_is_spelt(site, owner):
    site.install("acme-catalog", "acme")
    site.install(owner, "acme")

    assert registry.find("acme").summary == f"A catalog of {module_of(owner)}"
    listed = {each.distribution: each for each in registry.installed()}
    assert listed[owner].problem is None
    assert "claimed by" in str(listed["acme-catalog"].problem)


def test_a_distribution_of_the_owners_name_without_the_entry_point_owns_nothing(site):
    site.install("lance-ns-acme", "acme", group="something.else")
    site.install("acme-catalog", "acme")

    assert registry.find("acme").summary == f"A catalog of {module_of('acme-catalog')}"


def test_the_same_distribution_twice_on_the_path_is_one(site, tmp_path_factory, monkeypatch):
    site.install("acme-catalog", "acme")
    second = Site(tmp_path_factory.mktemp("second"), monkeypatch)
    second.install("acme-catalog", "acme", version="1.1")
    monkeypatch.setattr(sys, "path", [*sys.path, str(second.path)])

    assert registry.find("acme").name == "acme"
    assert [(each.name, each.version) for each in registry.installed()] == [("acme", "1.2")]


# --- listings ------------------------------------------------------------------------------------------------------


def test_what_is_installed_is_listed_by_name_with_distribution_and_version(site):
    site.install("lance-ns-best", "best", version="2.0")
    site.install("acme-catalog", "acme")

    assert [(each.name, each.distribution, each.version, each.backend.name) for each in registry.installed()] == [
        ("acme", "acme-catalog", "1.2", "acme"),
        ("best", "lance-ns-best", "2.0", "best"),
    ]


def test_names_of_a_group_are_listed_without_importing_anything(site):
    site.install("a", "second", "1 / 0", group="lance_ns.commands")
    site.install("b", "first", "1 / 0", group="lance_ns.commands")

    assert registry.names(registry.COMMANDS) == ["first", "second"]


def test_middleware_is_found_by_name_in_its_own_group(site):
    site.install("a", "quiet", "thing = 'it'", group="lance_ns.middleware", module="made_for_a_test_quiet:thing")

    assert registry.named_object(registry.MIDDLEWARE, "quiet") == "it"


def test_middleware_that_nobody_or_several_give_is_refused(site):
    site.install("a", "loud", "x = 1", group="lance_ns.middleware")
    site.install("b", "loud", "x = 1", group="lance_ns.middleware")

    with pytest.raises(InvalidInput, match=r"nothing installed gives 'quiet'.*installed: loud"):
        registry.named_object(registry.MIDDLEWARE, "quiet")
    with pytest.raises(InvalidInput, match="several distributions give 'loud'"):
        registry.named_object(registry.MIDDLEWARE, "loud")


def test_middleware_that_is_broken_on_import_says_so(site):
    site.install("a-layer", "layer", "import no_such_sdk", group="lance_ns.middleware")

    with pytest.raises(Internal, match="a-layer cannot be imported: ModuleNotFoundError"):
        registry.named_object(registry.MIDDLEWARE, "layer")


def test_a_reference_is_resolved_and_anything_else_left_alone():
    assert registry.imported("lance_ns.errors:Internal") is Internal
    assert registry.imported(Internal) is Internal
