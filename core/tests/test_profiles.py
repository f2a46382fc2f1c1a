"""Profiles: where they are found, how they are completed, and how they fail."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_ns
from lance_ns import profiles
from lance_ns.errors import InvalidInput

CANARY = "canary-0451"


@pytest.fixture
def home(monkeypatch, tmp_path) -> Path:
    """A user's machine: an empty working directory, and a home without configuration."""
    for directory in ("work", "home", "config"):
        (tmp_path / directory).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def write(home):
    """Writes the configuration file of the working directory, or another one."""

    def write_file(content: str, path: str = "work/lance-ns.toml") -> Path:
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file

    return write_file


def values(name: str) -> dict[str, object]:
    return dict(profiles.load(name).properties)


# --- files ---------------------------------------------------------------------------------------------------------


def test_the_file_of_the_variable_is_taken_before_that_of_the_directory_before_that_of_the_user(
    home, write, monkeypatch
):
    section = '[profiles.p]\nbackend = "memory"\nendpoint = "{}"\n'
    write(section.format("user, by default"), "home/.config/lance-ns/config.toml")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert values("p") == {"endpoint": "user, by default"}

    write(section.format("user"), "config/lance-ns/config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert values("p") == {"endpoint": "user"}

    write(section.format("directory"))
    assert values("p") == {"endpoint": "directory"}

    monkeypatch.setenv("LANCE_NS_CONFIG", str(write(section.format("variable"), "elsewhere/any.toml")))
    assert values("p") == {"endpoint": "variable"}


def test_a_variable_that_names_no_file_is_refused_with_both(home, monkeypatch):
    monkeypatch.setenv("LANCE_NS_CONFIG", "/nowhere/lance-ns.toml")

    with pytest.raises(InvalidInput, match=r"LANCE_NS_CONFIG names /nowhere/lance-ns\.toml, which is no file"):
        profiles.load("p")


def test_without_a_file_there_is_no_profile(home):
    assert profiles.config_file() is None
    assert profiles.known() == []
    assert profiles.load() is None
    with pytest.raises(InvalidInput, match="unknown profile 'p' in any configuration file") as caught:
        profiles.load("p")
    assert caught.value.hint == "known: none"


def test_an_unknown_profile_is_refused_with_the_known_ones(write, monkeypatch):
    write('[profiles.prod]\nbackend = "memory"\n[profiles.dev]\nbackend = "memory"\n')
    monkeypatch.setenv("LANCE_NS_PROFILE__CI__BACKEND", "memory")

    with pytest.raises(InvalidInput, match="unknown profile 'prd'") as caught:
        profiles.load("prd")
    assert caught.value.hint == "known: ci, dev, prod"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[profiles.p\n", "cannot be read: .*line 1"),
        ("[profiles.p]\nbackend = 'a'\nbackend = 'b'\n", "cannot be read"),
        ("[profile.p]\nbackend = 'a'\n", "is no configuration"),
        ("profiles = 5\n", "is no configuration"),
        ("[profiles]\np = 'glue'\n", "is no configuration"),
        ("[profiles.p]\nbackend = 'a'\n[other]\nx = 1\n", "is no configuration"),
        ("[profiles.q]\nbackend = 'a'\n", "unknown profile 'p'"),
        ("[profiles.p]\nendpoint = 'a'\n", "names no backend"),
        ("[profiles.p]\nbackend = 5\n", "names no backend"),
        ("[profiles.p]\nbackend = 'a'\nendpoint = '${LANCE_TEST_UNSET}'\n", r"\$\{LANCE_TEST_UNSET\}"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(write, content, words):
    write(content + f"# {CANARY}\n")

    with pytest.raises(InvalidInput, match=words) as caught:
        profiles.load("p")
    assert "lance-ns.toml" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_file_that_is_not_text_is_refused_by_name(home):
    (home / "work/lance-ns.toml").write_bytes(b"\xff\xfe[profiles.p]")

    with pytest.raises(InvalidInput, match=r"lance-ns\.toml cannot be read"):
        profiles.load("p")


def test_nested_tables_say_the_same_as_dotted_names(write):
    write(
        '[profiles.quoted]\nbackend = "memory"\n"storage.aws_region" = "eu"\n"client.pool-size" = 7\n'
        '[profiles.inline]\nbackend = "memory"\nstorage = { aws_region = "eu" }\nclient = { pool-size = 7 }\n'
        '[profiles.table]\nbackend = "memory"\nclient.pool-size = 7\n[profiles.table.storage]\naws_region = "eu"\n'
    )

    expected = {"storage.aws_region": "eu", "client.pool-size": 7}
    assert values("quoted") == values("inline") == values("table") == expected


def test_values_keep_the_types_of_the_file(write):
    write('[profiles.p]\nbackend = "memory"\nretries = 2\nrate = 0.5\nstrict = true\nservers = ["a", "b"]\n')

    assert values("p") == {"retries": 2, "rate": 0.5, "strict": True, "servers": ["a", "b"]}


# --- variables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("${A}", "one"),
        ("x${A}y${B}z", "xoneytwoz"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("${C}", "${A}"),
        ("${D}", ""),
        ("$A and {A} and $", "$A and {A} and $"),
        ("${A", "${A"),
    ],
)
def test_references_take_values_from_the_environment_once(write, monkeypatch, written, read):
    for name, value in {"A": "one", "B": "two", "C": "${A}", "D": ""}.items():
        monkeypatch.setenv(name, value)
    write(f"[profiles.p]\nbackend = 'memory'\nendpoint = '{written}'\n")

    assert values("p") == {"endpoint": read}


def test_references_are_resolved_wherever_a_string_stands(write, monkeypatch):
    monkeypatch.setenv("A", "one")
    write(
        "[profiles.p]\nbackend = '${KIND}'\nservers = ['${A}', 'b']\nstorage = { key = '${A}' }\n",
    )
    monkeypatch.setenv("KIND", "memory")

    assert profiles.load("p").backend == "memory"
    assert values("p") == {"servers": ["one", "b"], "storage.key": "one"}


@pytest.mark.parametrize("reference", ["LANCE_TEST_UNSET", "", "not a name"])
def test_a_variable_that_is_not_set_is_named_with_the_property_that_wants_it(write, reference):
    write(f"[profiles.p]\nbackend = 'memory'\ntoken = '{CANARY}${{{reference}}}'\n")

    with pytest.raises(InvalidInput) as caught:
        profiles.load("p")
    assert re.search(
        rf"profile 'p'.*token refers to {re.escape(f'${{{reference}}}')}, which is not set", str(caught.value)
    )
    assert CANARY not in str(caught.value)


def test_a_reference_of_another_profile_is_not_needed(write):
    write("[profiles.p]\nbackend = 'memory'\n[profiles.q]\nbackend = 'memory'\ntoken = '${LANCE_TEST_UNSET}'\n")

    assert values("p") == {}


def test_the_environment_overrides_and_completes_the_file(write, monkeypatch):
    write('[profiles.prod]\nbackend = "memory"\nendpoint = "file"\nretries = 1\n"storage.aws_region" = "file"\n')
    monkeypatch.setenv("LANCE_NS_PROFILE__PROD__ENDPOINT", "${NOT_RESOLVED}")
    monkeypatch.setenv("LANCE_NS_PROFILE__PROD__STORAGE__AWS_REGION", "environment")
    monkeypatch.setenv("LANCE_NS_PROFILE__PROD__CLIENT__POOL_SIZE", "9")
    monkeypatch.setenv("LANCE_NS_PROFILE__OTHER__RETRIES", "5")

    assert values("prod") == {
        "endpoint": "${NOT_RESOLVED}",
        "retries": 1,
        "storage.aws_region": "environment",
        "client.pool_size": "9",
    }


def test_the_environment_alone_makes_a_profile(home, monkeypatch):
    monkeypatch.setenv("LANCE_NS_PROFILE__MY_PROD__BACKEND", "memory")
    monkeypatch.setenv("LANCE_NS_PROFILE__MY_PROD__RETRIES", "5")

    loaded = profiles.load("my-prod")

    assert (loaded.name, loaded.backend, dict(loaded.properties)) == ("my-prod", "memory", {"retries": "5"})


def test_the_profile_of_the_variable_is_taken_when_none_is_named(write, monkeypatch):
    write('[profiles.a]\nbackend = "memory"\n[profiles.b]\nbackend = "memory"\n')
    monkeypatch.setenv("LANCE_NS_PROFILE", "a")

    assert profiles.load().name == "a"
    assert profiles.load("b").name == "b"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r")))
def test_any_value_arrives_through_a_variable_as_it_is(write, value):
    write("[profiles.p]\nbackend = 'memory'\nendpoint = '${LANCE_TEST_VALUE}'\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_TEST_VALUE", value)

        assert values("p") == {"endpoint": value}


def test_a_profile_shows_no_value(write):
    write(f'[profiles.p]\nbackend = "memory"\ntoken = "{CANARY}"\n')

    assert CANARY not in f"{profiles.load('p')!r} {profiles.load('p')!s}"


# --- connecting ----------------------------------------------------------------------------------------------------


def test_connecting_by_a_profile_takes_its_backend_and_properties(installed, write):
    write(f'[profiles.p]\nbackend = "memory"\nretries = 2\ntoken = "{CANARY}"\n"storage.region" = "eu"\n')

    with lance_ns.connect(profile="p") as ns:
        assert ns.backend == "memory"
        assert (ns._config.retries, ns._config.token.reveal(), ns.storage) == (2, CANARY, {"region": "eu"})


def test_what_is_given_to_connect_overrides_the_profile(installed, write):
    write('[profiles.p]\nbackend = "memory"\nretries = 2\nendpoint = "file"\nstyle = "fancy"\nclient.pool-size = 3\n')

    ns = lance_ns.connect(
        "memory", {"retries": 7, "endpoint": "given"}, profile="p", retries=8, **{"client.pool_size": 5}
    )

    config = ns._config
    assert (config.retries, config.endpoint, config.style, config.pool_size) == (8, "given", "fancy", 5)


def test_given_environment_and_file_win_in_this_order_whatever_the_spelling(installed, write, monkeypatch):
    write('[profiles.p]\nbackend = "memory"\nclient.pool-size = 1\n')
    assert lance_ns.connect(profile="p")._config.pool_size == 1

    monkeypatch.setenv("LANCE_NS_PROFILE__P__CLIENT__POOL_SIZE", "2")
    assert lance_ns.connect(profile="p")._config.pool_size == 2
    assert lance_ns.connect(profile="p", **{"client.pool_size": 3})._config.pool_size == 3
    assert lance_ns.connect(profile="p", **{"client.pool-size": 4})._config.pool_size == 4


def test_none_leaves_what_the_profile_says(installed, write):
    write('[profiles.p]\nbackend = "memory"\nretries = 2\n')

    assert lance_ns.connect(profile="p", retries=None)._config.retries == 2


def test_a_profile_of_another_backend_than_the_one_asked_for_is_refused(installed, write):
    write('[profiles.p]\nbackend = "memory"\n')

    with pytest.raises(InvalidInput, match="profile 'p' is of backend 'memory', not 'glue'"):
        lance_ns.connect("glue", profile="p")


def test_the_profile_of_the_variable_serves_connections_that_name_no_backend(installed, write, monkeypatch):
    write('[profiles.p]\nbackend = "memory"\nretries = 2\n[profiles.q]\nbackend = "nowhere"\n')
    monkeypatch.setenv("LANCE_NS_PROFILE", "p")

    assert lance_ns.connect()._config.retries == 2
    assert lance_ns.connect("memory")._config.retries == 3, "who names a backend wants no profile"
    with pytest.raises(InvalidInput, match="'nowhere'"):
        lance_ns.connect(profile="q")


def test_an_empty_profile_name_is_not_taken_for_the_embedded_default(installed, home):
    with pytest.raises(InvalidInput, match="profile"):
        lance_ns.connect(profile="")


def test_a_property_of_a_profile_that_the_backend_does_not_know_is_refused(installed, write):
    write('[profiles.p]\nbackend = "memory"\nend_point = "x"\n')

    with pytest.raises(InvalidInput, match=r"unknown property 'end_point'.*did you mean 'endpoint'"):
        lance_ns.connect(profile="p")
