"""Declared properties: reading, refusing, showing, and what must never be shown."""

import copy
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_ns
from lance_ns.config import (
    HIDDEN,
    REQUIRED,
    Properties,
    Redactor,
    Secret,
    StorageOptions,
    StorageProperties,
    describe,
    holds_credentials,
    prefixed,
    prop,
    properties,
    read,
    resolved,
    secrets_of,
)
from lance_ns.errors import InvalidInput

CANARY = "canary-0451"


@properties
class NeedyConfig(StorageProperties):
    """Properties that somebody has to give."""

    endpoint: str = prop(REQUIRED, "URL of the server")
    token: Secret = prop(REQUIRED, "Bearer token")
    pool_size: int = prop(REQUIRED, "How many connections", name="client.pool-size")
    optional: str | None = prop(None, "Not needed")


@properties
class WorkedOutConfig(StorageProperties):
    """Defaults that are worked out."""

    root: str = prop(lambda: "/worked/out", "Where tables lie", shown="what a function says", location=True)
    lake: str = prop("lake", "A relative default", location=True)


@properties
class KindsConfig(StorageProperties):
    """One property of every kind, without defaults of interest."""

    text: str | None = prop(None, "A string")
    whole: int | None = prop(None, "A whole number")
    number: float | None = prop(None, "A number")
    flag: bool | None = prop(None, "True or false")
    secret: Secret | None = prop(None, "A secret")
    several: tuple[str, ...] | None = prop(None, "A list")
    where: str | None = prop(None, "A location", location=True)
    dashed: str | None = prop(None, "A name with a dash", name="client.the-name")
    headers: Mapping[str, str] = prefixed("header.", "Headers")


def values(config: Any) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in attrs.fields(type(config))}


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given_value", "value"),
    [
        ("endpoint", "https://a", "https://a"),
        ("endpoint", Path("/a"), "/a"),
        ("endpoint", Secret("s"), "s"),
        ("endpoint", "", ""),
        ("token", "t", Secret("t")),
        ("token", Secret("t"), Secret("t")),
        ("retries", 7, 7),
        ("retries", "7", 7),
        ("retries", 0, 0),
        ("rate", 2, 2.0),
        ("rate", 0.5, 0.5),
        ("rate", "0.5", 0.5),
        ("rate", "1e3", 1000.0),
        ("strict", True, True),
        ("strict", False, False),
        *(("strict", word, True) for word in ("true", "True", "TRUE", "yes", "on", "1")),
        *(("strict", word, False) for word in ("false", "False", "no", "off", "0")),
        ("servers", "a", ("a",)),
        ("servers", "a, b ,c", ("a", "b", "c")),
        ("servers", ["a", "b"], ("a", "b")),
        ("servers", ("a,b",), ("a,b",)),
        ("style", "fancy", "fancy"),
        ("root", "s3://lake/x", "s3://lake/x"),
        ("root", "/abs", "/abs"),
        ("root", Path("/abs"), "/abs"),
    ],
    ids=repr,
)
def test_a_property_is_read_from_a_string_or_as_it_is(memory, name, given_value, value):
    read_value = getattr(memory.config(**{name: given_value}), name)

    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("endpoint", 5, "a string, got 5"),
        ("endpoint", True, "a string, got True"),
        ("endpoint", ["a"], r"a string, got \['a'\]"),
        ("endpoint", b"a", "a string, got b'a'"),
        ("retries", "seven", "a whole number of attempts, got 'seven'"),
        ("retries", "", "a whole number of attempts, got ''"),
        ("retries", "1.5", "a whole number of attempts, got '1.5'"),
        ("retries", 1.5, "a whole number of attempts, got 1.5"),
        ("retries", 1.0, "a whole number of attempts, got 1.0"),
        ("retries", True, "a whole number of attempts, got True"),
        ("retries", [], r"a whole number of attempts, got \[\]"),
        ("rate", "fast", "a number of calls per second, got 'fast'"),
        ("rate", True, "a number of calls per second, got True"),
        ("rate", "nan", "number|at least"),
        ("strict", "maybe", "a true or false, got 'maybe'"),
        ("strict", 1, "a true or false, got 1"),
        ("strict", "", "a true or false, got ''"),
        ("servers", 5, "a list, separated by commas, got 5"),
        ("servers", ["a", 5], "a list, separated by commas"),
        ("root", 5, "a string, got 5"),
        ("root", "~nobody-has-this-name/lake", "got '~nobody-has-this-name/lake'"),
        ("client.pool-size", "many", "'client.pool-size' must be a whole number"),
    ],
    ids=repr,
)
def test_a_value_of_the_wrong_type_is_refused_with_what_it_should_be(memory, name, wrong, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        memory.config(**{name: wrong})

    assert repr(name) in caught.value.message
    assert caught.value.backend == "memory"


@pytest.mark.parametrize("wrong", [5, True, [CANARY], CANARY.encode(), {"a": CANARY}], ids=repr)
def test_a_secret_of_the_wrong_type_is_refused_without_being_shown(memory, wrong):
    with pytest.raises(InvalidInput) as caught:
        memory.config(token=wrong)

    assert caught.value.message == "property 'token' must be a secret"


def test_a_choice_is_one_of_those_declared(memory):
    with pytest.raises(InvalidInput, match="'style' must be one of plain, fancy, got 'Fancy'"):
        memory.config(style="Fancy")


@pytest.mark.parametrize(
    ("name", "least", "wrong"),
    [("retries", 0, -1), ("retries", 0, "-1"), ("rate", 0, -0.5), ("client.pool-size", 1, 0)],
)
def test_a_number_below_its_least_value_is_refused(memory, name, least, wrong):
    with pytest.raises(InvalidInput, match=f"'{name}' must be at least {least}, got {wrong!r}"):
        memory.config(**{name: wrong})


def test_all_missing_properties_are_named_at_once():
    with pytest.raises(InvalidInput) as caught:
        read(NeedyConfig, Properties({"optional": "x"}), backend="needy")

    assert caught.value.message == "required properties 'endpoint', 'token', 'client.pool-size' not given"
    assert "lance-ns config needy" in caught.value.hint


def test_one_missing_property_is_named_in_the_singular():
    with pytest.raises(InvalidInput, match="required property 'token' not given"):
        read(NeedyConfig, Properties({"endpoint": "e", "client.pool-size": 1}), backend="needy")


def test_none_is_as_good_as_not_given():
    with pytest.raises(InvalidInput, match="'endpoint'"):
        read(NeedyConfig, Properties({"endpoint": None, "token": "t", "client.pool-size": 1}), backend="needy")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("end_point", "endpoint"),
        ("Endpoint", "endpoint"),
        ("tokem", "token"),
        ("client.pool_sizes", "client.pool-size"),
        ("storage", "storage."),
        ("storage.", "storage."),
        ("pool_size", "client.pool-size"),
    ],
)
def test_an_unknown_property_is_refused_with_the_nearest_name(memory, name, near):
    with pytest.raises(InvalidInput, match=f"unknown property '{name}'") as caught:
        memory.config(**{name: "x"})

    assert caught.value.hint == f"did you mean {near!r}? `lance-ns config memory` lists them all"


def test_an_unknown_property_without_a_neighbour_is_refused_too(memory):
    with pytest.raises(InvalidInput, match="unknown property 'zzzz'") as caught:
        memory.config(zzzz=CANARY)

    assert caught.value.hint == "`lance-ns config memory` lists them all"
    assert CANARY not in str(caught.value)


def test_prefixed_properties_are_collected_without_their_prefix(memory):
    config = memory.config(
        **{
            "storage.aws_region": "eu",
            "storage.a.b-c": 5,
            "storage.on": True,
            "header.X": Secret("s"),
            "storage.f": 1.5,
        }
    )

    assert config.storage == {"aws_region": "eu", "a.b-c": "5", "on": "true", "f": "1.5"}
    assert config.headers == {"X": "s"}
    assert type(config.storage) is StorageOptions


@pytest.mark.parametrize("wrong", [["a"], {"a": "b"}, b"a", object()], ids=lambda wrong: type(wrong).__name__)
def test_a_prefixed_property_that_is_no_string_is_refused_without_its_value(memory, wrong):
    with pytest.raises(InvalidInput, match=f"property 'storage.key' is a string, not {type(wrong).__name__}") as caught:
        memory.config(**{"storage.key": wrong})

    assert repr(wrong) not in str(caught.value)


@pytest.mark.parametrize("name", ["client.pool-size", "client.pool_size"])
def test_a_dash_and_an_underscore_name_the_same_property(memory, name):
    assert memory.config(**{name: 9}).pool_size == 9


def test_the_later_source_wins_however_the_name_is_spelt():
    """File, then environment, then keywords: two of them may spell a name alike and the one between otherwise."""
    given_properties = Properties({"client.the-name": "file", "client.the_name": "environment"})
    given_properties = Properties(given_properties, {"client.the-name": "keyword"})

    assert read(KindsConfig, given_properties, backend="kinds").dashed == "keyword"


def test_a_location_is_made_absolute(memory, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")

    assert memory.config(root="lake").root == str(tmp_path / "lake")
    assert memory.config(root="~/lake").root == "/home/somebody/lake"
    assert memory.config(root=Path("lake")).root == str(tmp_path / "lake")


def test_a_default_location_is_absolute_as_well(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    config = read(WorkedOutConfig, Properties(), backend="x")

    assert (config.root, config.lake) == ("/worked/out", str(tmp_path / "lake"))


def test_properties_have_string_names(installed):
    with pytest.raises(InvalidInput, match="property names are strings, not int"):
        lance_ns.connect("memory", {5: "x"})


@pytest.mark.parametrize("source", [[("token", CANARY)], CANARY, 5], ids=["list", "string", "number"])
def test_properties_are_a_mapping(installed, source):
    with pytest.raises(InvalidInput, match=f"mapping, not {type(source).__name__}") as caught:
        lance_ns.connect("memory", source)

    assert CANARY not in str(caught.value)


def test_later_sources_of_properties_win_and_none_leaves_what_is_there():
    merged = Properties({"a": 1, "b": 2}, None, {"b": 3, "a": None})

    assert dict(merged) == {"a": 1, "b": 3}
    assert len(merged) == 2


# --- the same again ------------------------------------------------------------------------------------------------

text = st.text(st.characters(codec="utf-8"))
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
kinds = st.fixed_dictionaries(
    {},
    optional={
        "text": text,
        "whole": st.integers() | st.integers().map(str),
        "number": st.floats(allow_nan=False) | st.integers(-1000, 1000),
        "flag": st.booleans() | st.sampled_from(["true", "off", "YES", "0"]),
        "secret": text | text.map(Secret),
        "several": st.lists(text) | text,
        "where": st.from_regex(r"(s3://|/|)[a-z0-9/._ -]{1,20}", fullmatch=True),
        "client.the-name": text,
        "client.the_name": text,
    },
)
groups = st.dictionaries(
    st.builds(str.__add__, st.sampled_from(["storage.", "header."]), names),
    text | st.integers() | st.booleans() | text.map(Secret),
)


@given(kinds, groups)
def test_what_a_connection_resolves_to_makes_the_same_connection(given_kinds, given_groups):
    config = read(KindsConfig, Properties(given_kinds, given_groups), backend="kinds")

    again = read(KindsConfig, pickle.loads(pickle.dumps(resolved(config))), backend="kinds")

    assert values(again) == values(config)
    assert dict(resolved(again)) == dict(resolved(config))


def test_a_resolved_relative_location_means_the_same_elsewhere(memory, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = memory.config(root="lake")
    monkeypatch.chdir("/")

    assert memory.config(**resolved(config)).root == str(tmp_path / "lake")


def test_worked_out_defaults_are_resolved_once(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = read(WorkedOutConfig, Properties(), backend="x")
    monkeypatch.chdir("/")

    assert values(read(WorkedOutConfig, resolved(config), backend="x")) == values(config)


# --- what is known of a property -----------------------------------------------------------------------------------


def test_every_property_is_described_for_the_manual(memory):
    infos = {info.name: info for info in describe(memory.Config)}

    assert [info.name for info in describe(memory.Config)][-2:] == ["storage.*", "header.*"]
    assert (infos["client.pool-size"].type, infos["client.pool-size"].default) == ("whole number", "4")
    assert infos["retries"].type == "whole number of attempts"
    assert infos["rate"].type == "number of calls per second"
    assert (infos["strict"].type, infos["strict"].default) == ("true or false", "false")
    assert infos["servers"].type == "list, separated by commas"
    assert infos["style"].type == "plain | fancy"
    assert (infos["token"].type, infos["token"].default, infos["token"].secret) == ("secret", "none", True)
    assert infos["storage.*"].secret
    assert not infos["endpoint"].secret
    assert all(info.description for info in infos.values())
    assert not any(info.required for info in infos.values())


def test_required_and_worked_out_defaults_are_described_in_words():
    assert [(info.name, info.default, info.required) for info in describe(NeedyConfig)] == [
        ("endpoint", "required", True),
        ("token", "required", True),
        ("client.pool-size", "required", True),
        ("optional", "none", False),
        ("storage.*", "none", False),
    ]
    assert describe(WorkedOutConfig)[0].default == "what a function says"


def test_a_secret_with_a_default_is_described_without_it():
    @properties
    class Careless(StorageProperties):
        token: Secret = prop(Secret(CANARY), "A token that somebody put into the code")

    assert CANARY not in repr(describe(Careless))


# --- secrets -------------------------------------------------------------------------------------------------------


@given(text)
def test_a_secret_looks_the_same_whatever_it_is(value):
    secret, other = Secret(value), Secret("something else")

    for show in (repr, str, "{}".format, "{!r:>30}".format, "%s".__mod__):
        assert show(secret) == show(other)
    assert secret.reveal() == value


def test_secrets_are_equal_by_value_and_to_secrets_only():
    assert Secret("a") == Secret("a")
    assert hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


def test_a_secret_survives_copies_and_pickles():
    assert copy.deepcopy(Secret("a")) == pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")


def test_properties_show_their_names_only():
    shown = f"{Properties({'token': CANARY, 'a': CANARY})!r} {Properties({'token': CANARY})!s}"

    assert CANARY not in shown
    assert repr(Properties({"token": "x", "a": "y"})) == "Properties(a, token)"
    assert repr(Properties()) == "Properties(none)"


def test_storage_options_show_their_keys_only():
    options = StorageOptions({"key": CANARY})

    assert repr(options) == str(options) == f"{options}" == "StorageOptions(key)"
    assert repr(StorageOptions()) == "StorageOptions(none)"
    assert options["key"] == CANARY


@pytest.mark.parametrize(
    "derived",
    [
        lambda options: options | {"b": "c"},
        lambda options: {"b": "c"} | options,
        lambda options: options.copy(),
        copy.copy,
        copy.deepcopy,
        lambda options: pickle.loads(pickle.dumps(options)),
    ],
    ids=["or", "ror", "copy method", "copy", "deepcopy", "pickle"],
)
def test_what_is_made_of_storage_options_shows_its_keys_only(derived):
    made = derived(StorageOptions({"key": CANARY}))

    assert made["key"] == CANARY
    assert CANARY not in f"{made!r} {made!s}"


def test_a_config_shows_no_value_at_all(memory):
    config = memory.config(endpoint=CANARY, token=CANARY, **{"storage.key": CANARY})

    assert repr(config) == str(config) == "MemoryConfig(…)"


@pytest.mark.parametrize(
    "key",
    [
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "aws_sse_customer_key_base64",
        "azure_client_secret",
        "azure_storage_account_key",
        "azure_storage_master_key",
        "azure_storage_sas_key",
        "azure_storage_token",
        "bearer_token",
        "google_service_account_key",
        "oss_secret_access_key",
        "Authorization",
        "Password",
    ],
)
def test_storage_options_that_authenticate_are_known(memory, key):
    assert holds_credentials({key: "x", "region": "eu"})
    assert secrets_of(memory.config(**{f"storage.{key}": CANARY})) == [CANARY]
    assert secrets_of(memory.config(**{f"header.{key}": CANARY})) == [CANARY]


@pytest.mark.parametrize("key", ["region", "aws_region", "endpoint", "allow_http", "timeout", "account_name"])
def test_ordinary_storage_options_are_no_secrets(memory, key):
    assert not holds_credentials({key: "x"})
    assert secrets_of(memory.config(**{f"storage.{key}": "eu-west-1"})) == []


def test_the_secrets_of_a_config_are_all_of_them_and_no_empty_one(memory):
    config = memory.config(token="t", password="", **{"storage.secret_key": "s", "storage.region": "eu"})

    assert sorted(secrets_of(config)) == ["s", "t"]


# --- redaction -----------------------------------------------------------------------------------------------------

ENCODINGS = {
    "plain": lambda secret: secret,
    "quoted": lambda secret: quote(secret, safe=""),
    "quoted path": quote,
    "form": quote_plus,
    "lower-case quoted": lambda secret: re.sub("%..", lambda match: match[0].lower(), quote(secret, safe="")),
    "repr": lambda secret: repr(secret)[1:-1],
    "json": lambda secret: json.dumps(secret)[1:-1],
}


@pytest.mark.parametrize(
    "secret", ["canary-0451", "ab/cd+ef==", "pa ss&w=rd%", "q\"uo'te\\d", "schlüssel-漢", "tab\tend"]
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_is_taken_out_in_every_form_that_a_library_gives_it(encoding, secret):
    written = ENCODINGS[encoding](secret)

    assert Redactor([secret])(f"before {written} after") == f"before {HIDDEN} after"


@given(st.lists(names.filter(lambda name: "*" not in name), min_size=1, max_size=4), text, text)
def test_no_secret_is_left_in_a_text(secrets, before, after):
    redact = Redactor(secrets)

    for secret in secrets:
        assert secret not in redact(f"{before}{secret}{after}")


def test_a_secret_that_contains_another_is_hidden_as_a_whole():
    assert Redactor(["abc", "abcdef"])("x abcdef y") == f"x {HIDDEN} y"


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [
        ("https://user:pass@host/x", f"https://{HIDDEN}@host/x"),
        ("thrift://token@a:9083,thrift://b:9083", f"thrift://{HIDDEN}@a:9083,thrift://b:9083"),
        ("https://user:p@ss@host/x", f"https://{HIDDEN}@host/x"),
        ("https://host/x@y", "https://host/x@y"),
        ("mail to user@host", "mail to user@host"),
    ],
)
def test_users_and_passwords_in_urls_are_taken_out(shown, hidden):
    assert Redactor([])(f"cannot reach {shown}!") == f"cannot reach {hidden}!"


def test_a_text_without_secrets_stays_as_it_is():
    assert Redactor(["canary"])("table ml$docs not found") == "table ml$docs not found"
