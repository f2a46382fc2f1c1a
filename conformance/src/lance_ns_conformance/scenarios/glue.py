"""What is Glue's own: databases, entries with versions, catalogs, signed calls."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from lance_ns.connection import connect
from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with, failure
from lance_ns_conformance.scenarios.paging import pages
from lance_ns_conformance.scenarios.redaction import logged, told
from lance_ns_conformance.stand_in import Asked, Reply, StandIn
from lance_ns_conformance.world import World

GLUE = ("glue",)
PROPERTIES = "glue.namespace-implementation-configuration-properties.properties"
SECRET = "s3cr3t/of+the=k1t"  # noqa: S105  # made up, to be looked for

Answer = Callable[[str, Any], Reply]
"""What the service says to an operation and its parameters."""


class GlueClient(NativeClient, Protocol):
    """What these scenarios ask of a plain Glue client beyond the common."""

    def table(self, id: Levels) -> Any:
        """What Glue says of a table, None when there is none."""

    def database(self, name: str) -> Any:
        """What Glue says of a database, None when there is none."""

    def make_database(self, name: str) -> None:
        """Make a database without us."""

    def remove_database(self, name: str) -> None:
        """Delete a database."""


def glue(world: World) -> GlueClient:
    """A plain client of the catalog."""
    return cast("GlueClient", world.needs_native())


@contextmanager
def towards(world: World, answer: Answer, **properties: Any) -> Iterator[tuple[Namespace, StandIn]]:
    """A connection to a service that answers as a function says."""

    def reply(asked: Asked) -> Reply:
        return answer(operation_of(asked), json.loads(asked.body or b"{}"))

    given: Mapping[str, Any] = {"max_retries": 0, **properties}
    with StandIn(reply) as server, connected_with(world, {"endpoint": server.url, **given}) as ns:
        yield ns, server


def operation_of(asked: Asked) -> str:
    """The Glue operation that a request is for."""
    return header(asked, "X-Amz-Target").rpartition(".")[2]


def header(asked: Asked, name: str) -> str:
    """A header of a request, empty when it is not there."""
    return next((value for key, value in asked.headers.items() if key.lower() == name.lower()), "")


def refused(code: str, message: str = "no", status: int = 400) -> Reply:
    """An error of the service."""
    return Reply(status, {"__type": code, "message": message})


def entry(name: str = "t", *, location: str = "/nowhere/t", version: str = "7", **fields: Any) -> dict[str, Any]:
    """A Lance table as Glue describes it."""
    return {
        "Name": name,
        "DatabaseName": "d",
        "TableType": "EXTERNAL_TABLE",
        "VersionId": version,
        "StorageDescriptor": {"Location": location},
        "Parameters": {"table_type": "lance"},
        **fields,
    }


def every_operation(ns: Namespace) -> dict[str, Callable[[], Any]]:
    """A call of each basic operation."""
    return {
        "create_namespace": lambda: ns.create_namespace("d"),
        "list_namespaces": lambda: list(ns.list_namespaces()),
        "describe_namespace": lambda: ns.describe_namespace("d"),
        "drop_namespace": lambda: ns.drop_namespace("d"),
        "declare_table": lambda: ns.declare_table("d$t"),
        "list_tables": lambda: list(ns.list_tables("d")),
        "describe_table": lambda: ns.describe_table("d$t"),
        "deregister_table": lambda: ns.deregister_table("d$t"),
    }


def all_answer(world: World, answer: Answer, code: ErrorCode) -> None:
    """Every operation gives an error when all that the service says is one thing."""
    with towards(world, answer) as (ns, _):
        for operation, call in every_operation(ns).items():
            try:
                with raises(code):
                    call()
            except AssertionError as error:
                raise AssertionError(f"{operation}: {error}") from None


# --- what Glue holds -----------------------------------------------------------------------------------------------


@scenario(
    "a namespace is a database with its properties as parameters, and gone for other clients after the drop",
    backends=GLUE,
    clauses=[
        "glue.namespace.2",
        "glue.namespace.5",
        "glue.create-namespace.steps.1",
        "glue.drop-namespace.steps.1",
    ],
)
def database(ns: Namespace, world: World) -> None:
    (name,) = world.created(ns, properties={"owner": "ann"})
    assert glue(world).database(name)["Parameters"] == {"owner": "ann"}
    ns.drop_namespace(name)
    assert glue(world).database(name) is None


@scenario("description and location of a namespace are those of its database", backends=GLUE)
def fields_of_a_database(ns: Namespace, world: World) -> None:
    properties = {"description": "what it is", "location": "s3://lake/there", "owner": "ann"}
    (name,) = world.created(ns, properties=properties)
    found = glue(world).database(name)
    assert (found["Description"], found["LocationUri"]) == ("what it is", "s3://lake/there")
    assert found["Parameters"] == {"owner": "ann"}
    assert ns.describe_namespace(name).properties == properties


@scenario(
    "a database of another client is a namespace of the root",
    backends=GLUE,
    clauses=["glue.namespace.1", "decisions.depth.9"],
)
def database_of_another(ns: Namespace, world: World) -> None:
    name = world.name("theirs")
    glue(world).make_database(name)
    try:
        assert name in ns.list_namespaces()
        assert ns.describe_namespace(name).properties == {}
    finally:
        glue(world).remove_database(name)
    assert name not in ns.list_namespaces()


@scenario(
    "a declared table is an external table of type lance, with its location and its properties",
    backends=GLUE,
    clauses=["glue.table.1", "glue.table.3", "glue.table.4", "glue.declare-table.steps.2"],
)
def companion(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    declared = ns.declare_table(table, properties={"owner": "ann"})
    found = glue(world).table(table)
    assert found["TableType"] == "EXTERNAL_TABLE"
    assert found["Parameters"] == {"owner": "ann", "table_type": "lance"}
    assert found["StorageDescriptor"]["Location"] == declared.location == ns.describe_table(table).location


@scenario(
    "a deregistered table is gone for other clients too", backends=GLUE, clauses=["glue.deregister-table.steps.1"]
)
def gone_for_others(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    assert glue(world).holds(table)
    ns.deregister_table(table)
    assert not glue(world).holds(table)


@scenario(
    "tables that are not external, or not of type lance, are no Lance tables; in any spelling, lance is one",
    backends=GLUE,
    clauses=[
        "glue.lance-table-identification.1",
        "glue.lance-table-identification.2",
        "glue.lance-table-identification.3",
        "glue.lance-table-identification.4",
        "glue.list-tables.steps.1",
        "glue.describe-table.errors.2",
        "glue.deregister-table.errors.2",
    ],
)
def identification(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    foreign = glue(world).make_foreign(id, "foreign")
    spellings = {"one": "lance", "two": "LANCE", "three": "Lance"}
    for name, spelling in spellings.items():
        glue(world).make_lance((*id, name), f"{world.scratch}/{name}", spelling)
    assert sorted(ns.list_tables(id)) == sorted(spellings)
    for limit in (1, 2):
        assert sorted(pages(ns.list_tables_page, id, limit)) == sorted(spellings)
    for name in spellings:
        assert ns.describe_table((*id, name)).location == f"{world.scratch}/{name}"
    for name, kind in foreign.items():
        for call in (ns.describe_table, ns.deregister_table):
            assert failure(lambda call=call, name=name: call((*id, name))).code is ErrorCode.INVALID_INPUT, kind  # type: ignore[misc]
        assert glue(world).holds((*id, name)), f"{kind} was deregistered"
        glue(world).remove((*id, name))


@scenario("a cascade removes the entries of every format", backends=GLUE, clauses=["glue.drop-namespace.steps.3"])
def cascade(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "ours"))
    names = [*glue(world).make_foreign(id, "foreign"), "ours"]
    ns.drop_namespace(id, behavior="cascade")
    assert not [name for name in names if glue(world).holds((*id, name))]
    assert not ns.namespace_exists(id)


@scenario("names are folded to lower case, and given back so", backends=GLUE)
def folded(ns: Namespace, world: World) -> None:
    (name,) = world.created(ns)
    ns.declare_table((name.upper(), "Mixed"))
    found = ns.describe_table((name, "MIXED"))
    assert (found.table, tuple(found.namespace or ())) == ("mixed", (name,))
    assert str(found.location).endswith(f"/{name}/mixed")
    assert glue(world).holds((name, "mixed"))
    assert tuple(ns.deregister_table((name.title(), "mIXED")).id or ()) == (name, "mixed")


# --- where tables lie ----------------------------------------------------------------------------------------------


def rootless(world: World) -> Namespace:
    """A connection without a root."""
    return connect("glue", {name: value for name, value in world.properties().items() if name != "root"})


@scenario(
    "a table without a location lies below the root, by database and name",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.8", "decisions.default-locations.2"],
)
def below_the_root(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"location": "s3://lake/elsewhere"})
    with connected_with(world, {"root": f"{world.scratch}/here/"}) as other:
        assert other.declare_table((*id, "t")).location == f"{world.scratch}/here/{id[0]}/t"


@scenario(
    "without a root a table lies below the location of its database",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.9", "decisions.default-locations.4"],
)
def below_the_database(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"location": f"{world.scratch}/there/"})
    with rootless(world) as other:
        assert other.declare_table((*id, "t")).location == f"{world.scratch}/there/t"


@scenario(
    "without a root and without a location of its database a table lies below the working directory",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.9", "decisions.default-locations.5"],
    live_only=True,
)
def below_the_working_directory(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with rootless(world) as other:
        assert other.declare_table((*id, "t")).location == f"{Path.cwd()}/{id[0]}/t"


@scenario(
    "storage properties come back as storage options without their prefix, and the credentials of calls do not",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.10"],
)
def storage(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with connected_with(world, {"storage.region": "us-west-2", "storage.timeout": "5s"}) as other:
        expected = {**other.storage, "region": "us-west-2", "timeout": "5s"}
        assert other.declare_table(table).storage_options == expected
        assert other.describe_table(table).storage_options == expected


# --- versions ------------------------------------------------------------------------------------------------------


@scenario(
    "an update names the version that was read, gives the whole entry back, and leaves no old version behind",
    backends=GLUE,
    clauses=["glue.optimistic-concurrency-control.1"],
)
def versions(ns: Namespace, world: World) -> None:
    found = entry(Description="kept", Owner="ann", Retention=3, PartitionKeys=[{"Name": "p", "Type": "int"}])
    sent: list[Any] = []

    def answer(operation: str, asked: Any) -> Reply:
        if operation == "GetTable":
            return Reply(body={"Table": found})
        sent.append(asked)
        return Reply(body={})

    with towards(world, answer) as (other, _):
        other.alter_table_properties("d$t", {"a": "b"})
        other.register_table("d$t", "/elsewhere")  # answered {}: it was made
    update, creation = sent
    assert (update["VersionId"], update["SkipArchive"]) == ("7", True)
    kept = {name: value for name, value in found.items() if name not in ("DatabaseName", "VersionId")}
    assert update["TableInput"] == {**kept, "Parameters": {"table_type": "lance", "a": "b"}}
    assert "VersionId" not in creation


@scenario(
    "an update that always meets another version answers ConcurrentModification",
    backends=GLUE,
    clauses=["glue.optimistic-concurrency-control.2"],
)
def always_too_late(ns: Namespace, world: World) -> None:
    versions = iter(range(1000))

    def answer(operation: str, asked: Any) -> Reply:
        del asked
        if operation == "GetTable":
            return Reply(body={"Table": entry(version=str(next(versions)))})
        if operation == "CreateTable":
            return refused("AlreadyExistsException")
        return refused("ConcurrentModificationException")

    with towards(world, answer) as (other, server):
        for call in (
            lambda: other.alter_table_properties("d$t", {"a": "b"}),
            lambda: other.register_table("d$t", "/elsewhere", mode="overwrite"),
        ):
            with raises(ErrorCode.CONCURRENT_MODIFICATION):
                call()
        sent = [json.loads(asked.body)["VersionId"] for asked in server.seen if operation_of(asked) == "UpdateTable"]
    assert len(set(sent)) == len(sent), "an update was sent again without a look at the table"


# --- calls ---------------------------------------------------------------------------------------------------------


@scenario(
    "all calls go to the endpoint, for the catalog that is configured or for the caller's own",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.1", f"{PROPERTIES}.2", f"{PROPERTIES}.3"],
)
def catalogs(ns: Namespace, world: World) -> None:
    held = {"210987654321": ["theirs"], None: ["ours"]}

    def answer(operation: str, asked: Any) -> Reply:
        if operation == "GetDatabases":
            return Reply(body={"DatabaseList": [{"Name": name} for name in held[asked.get("CatalogId")]]})
        return refused("AccessDeniedException")

    for catalog, names in held.items():
        with towards(world, answer, **({"catalog_id": catalog} if catalog else {})) as (other, server):
            assert list(other.list_namespaces()) == names
            for operation, call in every_operation(other).items():
                if operation != "list_namespaces":
                    with raises(ErrorCode.PERMISSION_DENIED):
                        call()
            asked = [json.loads(each.body).get("CatalogId") for each in server.seen]
        assert len(asked) == len(every_operation(other))
        assert set(asked) == {catalog}


@scenario(
    "calls are signed with the configured key for the configured region",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.4", f"{PROPERTIES}.5", "glue.authentication.2"],
)
def signatures(ns: Namespace, world: World) -> None:
    given = {"region": "eu-central-1", "access_key_id": "KEYOFTHEKIT", "secret_access_key": SECRET}
    with towards(world, lambda *_: refused("AccessDeniedException"), **given) as (other, server):
        for call in every_operation(other).values():
            with raises(ErrorCode.PERMISSION_DENIED):
                call()
        for asked in server.seen:
            signed = header(asked, "Authorization")
            assert "Credential=KEYOFTHEKIT/" in signed
            assert "/eu-central-1/glue/aws4_request" in signed
            assert not header(asked, "X-Amz-Security-Token")


@scenario(
    "a session token is sent with every call, and an expired or unknown one answers Unauthenticated",
    backends=GLUE,
    clauses=["glue.authentication.3"],
)
def sessions(ns: Namespace, world: World) -> None:
    for code in ("ExpiredTokenException", "UnrecognizedClientException"):
        with towards(world, lambda *_, code=code: refused(code), session_token=SECRET) as (other, server):
            for call in every_operation(other).values():
                with raises(ErrorCode.UNAUTHENTICATED):
                    call()
            assert {header(asked, "X-Amz-Security-Token") for asked in server.seen} == {SECRET}
    with connected_with(world, {"session_token": "nobody-issued-this"}) as other, raises(ErrorCode.UNAUTHENTICATED):
        list(other.list_namespaces())


@scenario(
    "neither errors nor logs nor anything that is shown hold a secret of the credentials",
    backends=GLUE,
    clauses=[f"{PROPERTIES}.6", f"{PROPERTIES}.7"],
)
def secrets(ns: Namespace, world: World) -> None:
    for name in ("secret_access_key", "session_token"):

        def answer(operation: str, asked: Any) -> Reply:
            del operation, asked
            return refused("AccessDeniedException", f"you came with {SECRET}")

        with logged() as texts, towards(world, answer, **{name: SECRET}) as (other, _):
            assert SECRET not in f"{other!r} {other.storage}"
            for call in every_operation(other).values():
                assert SECRET not in told(failure(call)), f"an error shows {name}"
        assert not [text for text in texts if SECRET in text and "you came with" not in text], f"a log shows {name}"


@scenario(
    "errors of the service have their codes, whatever was asked",
    backends=GLUE,
    clauses=["contract.data-safety.10"],
)
def codes(ns: Namespace, world: World) -> None:
    expected = {
        "InvalidInputException": ErrorCode.INVALID_INPUT,
        "AccessDeniedException": ErrorCode.PERMISSION_DENIED,
        "InvalidSignatureException": ErrorCode.UNAUTHENTICATED,
        "OperationTimeoutException": ErrorCode.SERVICE_UNAVAILABLE,
        "ThrottlingException": ErrorCode.THROTTLING,
        "InternalServiceException": ErrorCode.INTERNAL,
        "ResourceNumberLimitExceededException": ErrorCode.INTERNAL,
        "NeverHeardOfException": ErrorCode.INTERNAL,
    }
    for name, code in expected.items():
        all_answer(world, lambda *_, name=name: refused(name), code)


@scenario(
    "a success that lacks what it is to hold is Internal, never an empty answer",
    backends=GLUE,
    clauses=["contract.data-safety.10"],
)
def cut_short(ns: Namespace, world: World) -> None:
    with towards(world, lambda *_: Reply(body={})) as (other, _):
        for operation, call in every_operation(other).items():
            if operation not in ("create_namespace", "declare_table"):  # their answers hold nothing
                assert failure(call).code is ErrorCode.INTERNAL, operation
    all_answer(world, lambda *_: Reply(body="<html>sign in</html>"), ErrorCode.INTERNAL)


@scenario(
    "every page is followed, an empty one too, and an error in the middle is raised",
    backends=GLUE,
    clauses=["contract.paging.14"],
)
def ragged(ns: Namespace, world: World) -> None:
    following: dict[str | None, tuple[list[str], str | None]] = {
        None: ([], "1"),
        "1": (["a"], "2"),
        "2": ([], "3"),
        "3": (["b", "c"], None),
    }

    def answer(operation: str, asked: Any) -> Reply:
        names, token = following[asked.get("NextToken")]
        field, make = ("DatabaseList", dict) if operation == "GetDatabases" else ("TableList", entry)
        held = {field: [make(Name=name) if make is dict else entry(name) for name in names]}
        return Reply(body={**held, "NextToken": token} if token else held)

    with towards(world, answer) as (other, _):
        assert list(other.list_tables("d")) == list(other.list_namespaces()) == ["a", "b", "c"]

    def failing(operation: str, asked: Any) -> Reply:
        if asked.get("NextToken") == "2":
            return refused("InternalServiceException", status=500)
        return answer(operation, asked)

    with towards(world, failing) as (other, _):
        for names in (other.list_tables("d"), other.list_namespaces()):
            with raises(ErrorCode.INTERNAL):
                list(names)


@scenario(
    "a create whose first answer was lost is read back: ours is a success, somebody else's is in the way",
    backends=GLUE,
    clauses=["contract.data-safety.9"],
)
def read_back(ns: Namespace, world: World) -> None:
    for is_ours in (True, False):
        sent: dict[str, Any] = {}

        def answer(operation: str, asked: Any, sent: dict[str, Any] = sent, is_ours: bool = is_ours) -> Reply:
            if operation in ("GetTable", "GetDatabase"):
                noun = operation.removeprefix("Get")
                theirs = {"Name": "t", "Parameters": {"other": "one"}}
                return Reply(body={noun: sent[noun] if is_ours else theirs})
            noun = operation.removeprefix("Create")
            if noun in sent:
                return refused("AlreadyExistsException")
            sent[noun] = asked[f"{noun}Input"]
            return refused("InternalServiceException", status=500)

        with towards(world, answer, max_retries=1) as (other, _):
            for call, code in (
                (lambda: other.create_namespace("d", properties={"a": "b"}), ErrorCode.NAMESPACE_ALREADY_EXISTS),
                (lambda: other.declare_table("d$t"), ErrorCode.TABLE_ALREADY_EXISTS),
            ):
                if is_ours:
                    call()
                else:
                    with raises(code):
                        call()
