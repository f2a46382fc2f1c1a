"""Canary secrets in every secret property and storage option: nowhere to be seen, whatever happens."""

import logging
import pickle
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

import lance_ns
from lance_ns import models as m
from lance_ns import profiles, registry
from lance_ns.config import HIDDEN, REQUIRED, Secret, StorageProperties, prop, properties
from lance_ns.errors import Internal, InvalidInput, LanceNsError, PermissionDenied, ServiceUnavailable, Unauthenticated
from lance_ns.middleware import around

CANARY = "c4n4ry"
SECRETS = {
    "token": f"{CANARY}-token/+=",
    "password": f"{CANARY}-password with 'quotes' & \\backslash",
    "storage.aws_access_key_id": f"{CANARY}-id",
    "storage.aws_secret_access_key": f"{CANARY}/key+==",
    "storage.aws_session_token": f"{CANARY}-session",
    "storage.azure_storage_account_key": f"{CANARY}-account",
    "storage.google_service_account_key": f'{{"private_key": "{CANARY}-google"}}',
    "header.api_key": f"{CANARY}-header",
}
ENDPOINT = f"https://user:{CANARY}-url@host:8080/path"
PROPERTIES = {**SECRETS, "endpoint": ENDPOINT, "style": "fancy", "storage.region": "eu"}

Raiser = Callable[[str], Exception]


def unseen(text: str) -> None:
    """No canary sings, in whatever case."""
    assert CANARY not in text.lower()


# --- while all is well ---------------------------------------------------------------------------------------------


def test_a_working_connection_shows_no_secret(installed, watch):
    ns = lance_ns.connect("memory", PROPERTIES, plugins=["audit", "otel"])
    ns.create_namespace("ml")
    declared = ns.declare_table("ml$docs")
    described = ns.describe_table("ml$docs")
    things = [
        ns,
        ns._config,
        ns._redact,
        ns.storage,
        ns.namespace_id(),
        declared,
        described,
        *list(ns.list_tables("ml")),
    ]
    ns.close()

    assert declared.storage_options["aws_secret_access_key"] == SECRETS["storage.aws_secret_access_key"]
    assert "create_namespace ml ok" in watch.shown()
    unseen(watch.shown(*things, vars(ns)))


def test_a_request_shows_neither_its_identity_nor_the_headers_in_its_context():
    """The contract sends the context's `header.` entries as HTTP headers: `header.Authorization` is one of them."""
    request = m.ListTablesRequest(
        id=["ml"],
        identity=m.Identity(api_key=f"{CANARY}-key", auth_token=f"{CANARY}-token"),
        context={"header.Authorization": f"Bearer {CANARY}"},
    )

    unseen(f"{request!r} {request!s} {request.identity!r} {[request]!r}")


def test_every_secret_is_there_for_the_backend_nevertheless(installed):
    config = lance_ns.connect("memory", PROPERTIES)._config

    assert config.token.reveal() == SECRETS["token"]
    assert config.storage["aws_session_token"] == SECRETS["storage.aws_session_token"]
    assert pickle.loads(pickle.dumps(lance_ns.connect("memory", PROPERTIES)))._config.password == config.password


# --- connects that fail --------------------------------------------------------------------------------------------


@properties
class NeedyConfig(StorageProperties):
    """A configuration that cannot be complete."""

    token: Secret = prop(REQUIRED, "Needed")
    missing: str = prop(REQUIRED, "Needed too")


FAILING = {
    "an unknown property": lambda: lance_ns.connect("memory", PROPERTIES, end_point="x"),
    "an unknown property given as a keyword": lambda: lance_ns.connect("memory", {}, tokem=SECRETS["token"]),
    "a number that is none": lambda: lance_ns.connect("memory", PROPERTIES, retries="many"),
    "a number that is too small": lambda: lance_ns.connect("memory", PROPERTIES, retries=-1),
    "a choice that is none": lambda: lance_ns.connect("memory", {**PROPERTIES, "style": "ugly"}),
    "a missing property": lambda: lance_ns.connect("needy", {"token": SECRETS["token"]}),
    "a name that is no string": lambda: lance_ns.connect("memory", {**PROPERTIES, 5: "x"}),
    "a list of properties": lambda: lance_ns.connect("memory", list(PROPERTIES.items())),
    "a string of properties": lambda: lance_ns.connect("memory", f"token={CANARY}"),
    "properties in place of the backend": lambda: lance_ns.connect({"backend": "memory", **PROPERTIES}),
    "a secret in bytes": lambda: lance_ns.connect("memory", token=CANARY.encode()),
    "a secret in a list": lambda: lance_ns.connect("memory", token=[CANARY]),
    "a storage option in bytes": lambda: lance_ns.connect("memory", {"storage.secret_key": CANARY.encode()}),
    "storage options in a dictionary": lambda: lance_ns.connect("memory", storage={"secret_key": CANARY}),
    "an unknown backend": lambda: lance_ns.connect("no-such-backend", PROPERTIES),
    "an unknown middleware": lambda: lance_ns.connect("memory", PROPERTIES, plugins=["no-such"]),
    "a middleware that is none": lambda: lance_ns.connect("memory", PROPERTIES, plugins=[object()]),
    "an empty delimiter": lambda: lance_ns.connect("memory", PROPERTIES, delimiter=""),
    "an unknown profile": lambda: lance_ns.connect(None, PROPERTIES, profile="no-such"),
    "a profile of another backend": lambda: lance_ns.connect("glue", PROPERTIES, profile="whole"),
    "a profile without a backend": lambda: lance_ns.connect(profile="headless"),
    "a profile with a variable that is not set": lambda: lance_ns.connect(profile="wanting"),
    "a profile with a wrong value": lambda: lance_ns.connect(profile="wrong"),
    "a profile with a secret of the wrong type": lambda: lance_ns.connect(profile="odd"),
}


@pytest.fixture
def failing(installed, monkeypatch, tmp_path):
    """Backends and profiles to fail with."""
    monkeypatch.setitem(registry._loaded, "needy", installed.backend(name="needy", config=NeedyConfig))
    secrets = f"token = '{CANARY}-a'\n'storage.secret_key' = '{CANARY}-b'\nstorage.aws_session_token = '{CANARY}-c'\n"
    (tmp_path / "lance-ns.toml").write_text(
        f"[profiles.whole]\nbackend = 'memory'\n{secrets}"
        f"[profiles.headless]\n{secrets}"
        f"[profiles.wanting]\nbackend = 'memory'\n{secrets}password = '{CANARY}-d${{LANCE_TEST_UNSET}}'\n"
        f"[profiles.wrong]\nbackend = 'memory'\n{secrets}retries = 'many'\n"
        f"[profiles.odd]\nbackend = 'memory'\n{secrets}password = ['{CANARY}-e']\n"
    )
    monkeypatch.setenv("LANCE_NS_CONFIG", str(tmp_path / "lance-ns.toml"))


@pytest.mark.parametrize("connect", FAILING.values(), ids=FAILING)
def test_a_connect_that_fails_shows_no_secret(failing, watch, connect):
    with pytest.raises(LanceNsError) as caught:
        connect()

    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


def test_the_profiles_to_fail_with_work_otherwise(failing):
    assert lance_ns.connect(profile="whole")._config.token.reveal() == f"{CANARY}-a"
    assert set(profiles.known()) == {"whole", "headless", "wanting", "wrong", "odd"}


def test_a_pickle_that_cannot_be_read_shows_no_secret(installed, watch, monkeypatch):
    pickled = pickle.dumps(lance_ns.connect("memory", PROPERTIES))
    monkeypatch.setattr(registry, "_loaded", {})

    with pytest.raises(InvalidInput) as caught:
        pickle.loads(pickled)
    unseen(watch.trace(caught.value))


# --- native errors that contain secrets ----------------------------------------------------------------------------


def chained(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def in_context(error: Exception, context: BaseException) -> Exception:
    error.__context__ = context
    return error


def noted(error: Exception, note: str) -> Exception:
    error.add_note(note)
    return error


RAISERS: dict[str, Raiser] = {
    "a foreign error": ValueError,
    "a foreign error that shows its argument's repr": KeyError,
    "a foreign error with several arguments": lambda text: OSError(5, "failed", text),
    "a message": lambda text: PermissionDenied(f"refused: {text}"),
    "a hint": lambda text: PermissionDenied("refused", hint=f"try {text}"),
    "a native text": lambda text: PermissionDenied("refused", native=text),
    "a cause": lambda text: chained(PermissionDenied("refused"), ValueError(text)),
    "the cause of a cause": lambda text: chained(
        PermissionDenied("refused"), chained(ValueError("bad"), OSError(text))
    ),
    "the cause of a foreign error": lambda text: chained(ValueError("bad"), OSError(text)),
    "a context": lambda text: in_context(PermissionDenied("refused"), ValueError(text)),
    "the context of a cause": lambda text: chained(
        PermissionDenied("refused"), in_context(ValueError("bad"), OSError(text))
    ),
    "an error of ours as cause": lambda text: chained(PermissionDenied("refused"), Unauthenticated("no", hint=text)),
    "a group of causes": lambda text: chained(
        ServiceUnavailable("all servers failed"), ExceptionGroup("two", [OSError("a"), OSError(text)])
    ),
    "a note": lambda text: noted(PermissionDenied("refused"), f"sent {text}"),
    "a note of a cause": lambda text: chained(PermissionDenied("refused"), noted(ValueError("bad"), text)),
    "a note of a foreign error": lambda text: noted(ValueError("bad"), text),
}


def call_with(memory: Any, raiser: Raiser, text: str, **settings: Any) -> LanceNsError:
    """The error of a call whose backend fails with a text that it should have kept to itself."""

    def answer(request: m.Request[Any]) -> Any:
        raise raiser(text)

    ns = memory.connect(answers={"describe_table": answer}, **PROPERTIES, **settings)
    with pytest.raises(LanceNsError) as caught:
        ns.describe_table("ml$docs")
    return caught.value


@pytest.mark.parametrize("raiser", RAISERS.values(), ids=RAISERS)
def test_a_native_error_with_every_secret_in_it_shows_none(memory, watch, raiser):
    error = call_with(memory, raiser, " ".join(SECRETS.values()), plugins=["audit", "otel"])

    unseen(watch.shown(error, error.to_wire()))
    unseen(watch.trace(error))
    unseen(repr(pickle.loads(pickle.dumps(error)).fields()))


@pytest.mark.parametrize("raiser", RAISERS.values(), ids=RAISERS)
def test_a_url_with_user_and_password_in_a_native_error_is_shown_without_them(memory, watch, raiser):
    error = call_with(memory, raiser, f"cannot reach {ENDPOINT}")

    unseen(watch.shown(error))
    unseen(watch.trace(error))


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("form", [str, lambda secret: quote(secret, safe=""), repr], ids=["plain", "quoted", "repr"])
def test_each_secret_is_replaced_in_the_text_of_an_error(memory, name, form):
    error = call_with(memory, RAISERS["a message"], f"<{form(SECRETS[name]).strip(chr(39) + chr(34))}>")

    assert HIDDEN in error.message
    unseen(str(error))


def test_what_is_harmless_in_a_chain_of_causes_is_kept(memory):
    error = call_with(memory, RAISERS["the cause of a cause"], "connection reset by peer")

    assert str(error.__cause__.__cause__) == "connection reset by peer"


def test_an_error_of_a_middleware_shows_no_secret(memory, watch):
    def leaking(request):
        try:
            return (yield)
        except PermissionDenied as error:
            raise Unauthenticated(f"sent {SECRETS['token']}") from error

    error = call_with(memory, RAISERS["a message"], SECRETS["password"], plugins=[around(leaking), "audit"])

    assert type(error) is Unauthenticated
    unseen(watch.trace(error))


CALLS: dict[str, Callable[[lance_ns.Namespace], Any]] = {
    "create_namespace": lambda ns: ns.create_namespace("a"),
    "list_namespaces": lambda ns: list(ns.list_namespaces("a")),
    "describe_namespace": lambda ns: ns.describe_namespace("a"),
    "namespace_exists": lambda ns: ns.namespace_exists("a"),
    "drop_namespace": lambda ns: ns.drop_namespace("a"),
    "declare_table": lambda ns: ns.declare_table("a"),
    "list_tables": lambda ns: list(ns.list_tables("a")),
    "list_all_tables": lambda ns: list(ns.list_all_tables("a")),
    "describe_table": lambda ns: ns.describe_table("a"),
    "table_exists": lambda ns: ns.table_exists("a"),
    "drop_table": lambda ns: ns.drop_table("a"),
    "deregister_table": lambda ns: ns.deregister_table("a"),
    "dataset": lambda ns: ns.dataset("a"),
    "write": lambda ns: ns.write("a", [{"x": 1}], mode="append"),
    "call": lambda ns: ns.call(m.DescribeTableRequest(id=["a"])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("raiser", [RAISERS["a foreign error"], RAISERS["a cause"]], ids=["foreign", "cause"])
def test_every_method_keeps_the_secrets_of_a_failing_backend(memory, watch, call, raiser):
    def answer(request: m.Request[Any]) -> Any:
        raise raiser(f"denied for {SECRETS['token']}")

    ns = memory.connect(answers=dict.fromkeys(lance_ns.BASIC, answer), **PROPERTIES)

    with pytest.raises(LanceNsError) as caught:
        call(ns)
    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


def test_the_token_of_a_single_call_is_not_shown_by_its_error(memory, watch):
    def answer(request: m.Request[Any]) -> Any:
        raise Unauthenticated(f"the server does not know {request.identity.auth_token}")

    ns = memory.connect(answers={"describe_table": answer}, capabilities=lance_ns.BASIC | {"identity"})

    with pytest.raises(Unauthenticated) as caught:
        ns.call(m.DescribeTableRequest(id=["t"], identity=m.Identity(auth_token=f"{CANARY}-of-this-call")))
    unseen(watch.trace(caught.value))


@pytest.mark.parametrize(
    "raiser",
    [RAISERS["a foreign error"], RAISERS["a message"], RAISERS["a cause"], RAISERS["a note"]],
    ids=["foreign", "message", "cause", "note"],
)
def test_a_factory_that_fails_shows_no_secret(memory, watch, raiser):
    def factory(config: Any) -> Any:
        raise raiser(f"cannot log in with {config.password.reveal()}")

    with pytest.raises(LanceNsError) as caught:
        memory.connect(factory=factory, **PROPERTIES)
    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


def test_a_close_that_fails_shows_no_secret(memory, watch):
    class Stuck(memory.Namespace):
        def close(self) -> None:
            raise OSError(f"cannot log out {self.config.token.reveal()}")

    with pytest.raises(LanceNsError) as caught, memory.connect(factory=Stuck, **PROPERTIES):
        pass
    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


# --- through pylance -----------------------------------------------------------------------------------------------

DATA = {
    "opening what has no data": lambda ns: ns.dataset("declared"),
    "opening a missing version": lambda ns: ns.dataset("written", version=99),
    "opening a missing tag": lambda ns: ns.dataset("written", version="no-such-tag"),
    "opening with a wrong option": lambda ns: ns.dataset("written", no_such_option=1),
    "writing what is no data": lambda ns: ns.write("declared", object()),
    "creating what has data": lambda ns: ns.write("written", [{"x": 1}]),
    "appending what does not fit": lambda ns: ns.write("written", [{"y": "text"}], mode="append"),
    "describing a missing version": lambda ns: ns.describe_table("written", version=99),
    "describing what cannot be reached": lambda ns: ns.describe_table("remote", load_detailed_metadata=True),
    "asking whether it has data": lambda ns: ns.describe_table("remote", check_declared=True),
    "dropping what cannot be reached": lambda ns: ns.drop_table("remote", delete_data=True),
}


@pytest.fixture
def lake(memory, tmp_path):
    """A connection with canaries for every storage, and tables in several states."""
    import pyarrow as pa

    ns = memory.connect(**PROPERTIES, root=str(tmp_path))
    ns.declare_table("declared")
    ns._implementation.tables["remote",] = "nosuchscheme://bucket/remote"
    ns.write("written", pa.table({"x": [1]}))
    return ns


@pytest.mark.parametrize("use", DATA.values(), ids=DATA)
def test_a_failure_of_pylance_shows_no_secret(lake, watch, use):
    with pytest.raises(LanceNsError) as caught:
        use(lake)

    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


OPTIONS = {"storage_options": {"aws_secret_access_key": f"{CANARY}-of-this-call"}}


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda ns: ns.dataset("declared", **OPTIONS), id="dataset"),
        pytest.param(lambda ns: ns.write("new", object(), **OPTIONS), id="create"),
        pytest.param(lambda ns: ns.create_table("new", object(), **OPTIONS), id="create_table"),
        pytest.param(lambda ns: ns.write("declared", object(), mode="append", **OPTIONS), id="first version"),
        pytest.param(lambda ns: ns.write("written", [{"y": "text"}], mode="append", **OPTIONS), id="append"),
        pytest.param(lambda ns: ns.write("written", object(), mode="overwrite", **OPTIONS), id="overwrite"),
    ],
)
def test_the_storage_options_of_a_single_call_are_not_shown_by_its_error(lake, watch, use):
    with pytest.raises(LanceNsError) as caught:
        use(lake)

    unseen(watch.shown(caught.value))
    unseen(watch.trace(caught.value))


def test_the_storage_options_of_a_single_call_are_taken(lake):
    import pyarrow as pa

    data = pa.table({"x": [1]})

    assert lake.write("new", data, **OPTIONS).count_rows() == 1
    assert lake.write("new", data, mode="append", **OPTIONS).count_rows() == 2
    assert lake.write("declared", data, mode="overwrite", **OPTIONS).count_rows() == 1
    assert lake.dataset("new", **OPTIONS).count_rows() == 2


# --- through the bridge --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", sorted(lance_ns.BASIC))
@pytest.mark.parametrize("raiser", [RAISERS["a foreign error"], RAISERS["a message"]], ids=["foreign", "message"])
def test_an_error_that_crosses_the_bridge_names_the_backend_and_shows_no_secret(memory, watch, operation, raiser):
    import lance_namespace

    def answer(request: m.Request[Any]) -> Any:
        raise raiser(f"denied for {SECRETS['token']}")

    bridge = memory.connect(answers={operation: answer}, **PROPERTIES).as_lance()
    request = getattr(lance_namespace, m.REQUESTS[operation].__name__)(id=["t"])

    with pytest.raises(lance_namespace.LanceNamespaceError, match="memory: ") as caught:
        getattr(bridge, operation)(request)
    unseen(watch.shown(caught.value, bridge))
    unseen(watch.trace(caught.value))


# --- logs ----------------------------------------------------------------------------------------------------------


def test_every_logger_was_listened_to(installed, watch, caplog):
    """The watch of these tests sees what any logger says at DEBUG."""
    logging.getLogger("some.library.deep.down").debug("sent %s", SECRETS["token"])

    with pytest.raises(AssertionError):
        unseen(watch.shown())


def test_the_watch_sees_the_locals_of_foreign_frames(watch):
    """And a traceback with locals is what it says."""
    import json

    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(f'"{CANARY}')
    with pytest.raises(AssertionError):
        unseen(watch.trace(caught.value))


def test_an_internal_error_says_what_happened_without_the_secret(memory):
    error = call_with(memory, RAISERS["a foreign error"], f"login with {SECRETS['token']} failed")

    assert type(error) is Internal
    assert error.message == f"describe_table failed unexpectedly: ValueError: login with {HIDDEN} failed"
