"""Capability honesty: what is not declared answers Unsupported, and changes nothing."""

from lance_ns.capabilities import BASIC, OPERATIONS
from lance_ns.errors import ErrorCode
from lance_ns.models import (
    AlterTablePropertiesRequest,
    CreateNamespaceRequest,
    DeclareTableRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    Identity,
    ListNamespacesRequest,
    ListTablesRequest,
    RegisterTableRequest,
    RenameTableRequest,
    Request,
)
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World


@scenario(
    "what is not declared answers Unsupported and changes nothing",
    clauses=[
        "contract.capabilities.2",
        "contract.capabilities.3",
        "contract.capabilities.4",
        "contract.capabilities.7",
        "contract.capabilities.8",
        "contract.capabilities.9",
        "contract.capabilities.10",
        "contract.capabilities.11",
        "contract.drop-behaviors.7",
        "decisions.drop.6",
        "decisions.per-request.3",
        "decisions.per-request.4",
        "decisions.per-request.5",
        "decisions.per-request.6",
        "decisions.detailed-metadata.1",
        "polaris.drop-namespace.steps.1",
        "iceberg.drop-namespace.steps.1",
        "polaris.describe-table.steps.1",
        "iceberg.describe-table.steps.1",
    ],
)
def undeclared(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    table = (*id, "t")
    ns.declare_table(table)
    requests: dict[str, Request] = {  # type: ignore[type-arg]
        "rename_table": RenameTableRequest(id=table, new_table_name="u"),
        "alter_table_properties": AlterTablePropertiesRequest(id=table, updates={"a": "b"}),
        "register_table": RegisterTableRequest(id=(*id, "r"), location=f"{world.scratch}/r"),
        "drop_namespace.cascade": DropNamespaceRequest(id=id, behavior="cascade"),
        "declare_table.location": DeclareTableRequest(id=(*id, "l"), location=f"{world.scratch}/l"),
        "declare_table.vend_credentials": DeclareTableRequest(id=(*id, "v"), vend_credentials=True),
        "describe_table.vend_credentials": DescribeTableRequest(id=table, vend_credentials=True),
        "describe_table.tag": DescribeTableRequest(id=table, tag="x"),
        "describe_table.branch": DescribeTableRequest(id=table, branch="x"),
        "describe_table.load_detailed_metadata": DescribeTableRequest(id=table, load_detailed_metadata=True),
        "identity": DescribeTableRequest(id=table, identity=Identity(auth_token="of another")),  # noqa: S106
    }
    for capability, request in requests.items():
        if capability not in ns.capabilities:
            with raises(ErrorCode.UNSUPPORTED):
                ns.call(request)
    assert list(ns.list_tables(id)) == ["t"]
    assert ns.namespace_exists(id)


@scenario("what a connection can do is part of what its backend declares", clauses=["contract.capabilities.6"])
def narrowed(ns: Namespace, world: World) -> None:
    from lance_ns.registry import find

    assert ns.capabilities <= find(world.subject.backend).capabilities
    assert ns.capabilities & OPERATIONS


@scenario("a tag together with a version answers InvalidInput", clauses=["contract.describe.5"])
def tag_and_version(ns: Namespace, world: World) -> None:
    with raises(ErrorCode.INVALID_INPUT):
        ns.describe_table((*world.namespace(), "t"), tag="x", version=1)


@scenario("the eight basic operations are there", clauses=["contract.capabilities.1"])
def basic(ns: Namespace, world: World) -> None:
    assert ns.capabilities >= BASIC, f"missing: {', '.join(sorted(BASIC - ns.capabilities))}"


@scenario("a tag together with a branch answers InvalidInput", clauses=["contract.describe.5"])
def tag_and_branch(ns: Namespace, world: World) -> None:
    with raises(ErrorCode.INVALID_INPUT):
        ns.describe_table((*world.namespace(), "t"), tag="x", branch="y")


@scenario(
    "a cascade that is not declared answers Unsupported, and what the namespace holds stays",
    clauses=[
        "contract.drop-behaviors.7",
        "contract.capabilities.4",
        "decisions.drop.6",
        "polaris.drop-namespace.steps.1",
        "iceberg.drop-namespace.steps.1",
    ],
)
def undeclared_cascade(ns: Namespace, world: World) -> None:
    if "drop_namespace.cascade" in ns.capabilities:
        world.skip("drop_namespace.cascade is declared")
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    for mode in ("fail", "skip"):
        with raises(ErrorCode.UNSUPPORTED):
            ns.drop_namespace(id, mode=mode, behavior="cascade")
    assert list(ns.list_tables(id)) == ["t"]


@scenario(
    "a location that cannot be given answers Unsupported, and nothing is declared",
    clauses=["contract.capabilities.11", "contract.capabilities.4"],
)
def undeclared_location(ns: Namespace, world: World) -> None:
    if "declare_table.location" in ns.capabilities:
        world.skip("declare_table.location is declared")
    table = (*world.created(ns), "t")
    with raises(ErrorCode.UNSUPPORTED):
        ns.declare_table(table, location=f"{world.scratch}/elsewhere")
    assert not ns.table_exists(table)


@scenario(
    "registering over a table that cannot be overwritten answers Unsupported",
    clauses=["contract.register.5", "contract.capabilities.3"],
    needs=["register_table"],
)
def undeclared_register_overwrite(ns: Namespace, world: World) -> None:
    if "register_table.overwrite" in ns.capabilities:
        world.skip("register_table.overwrite is declared")
    table = (*world.created(ns), "t")
    before = ns.declare_table(table).location
    with raises(ErrorCode.UNSUPPORTED):
        ns.register_table(table, f"{world.scratch}/elsewhere", mode="overwrite")
    assert ns.describe_table(table).location == before


@scenario(
    "moving a table where only renaming is declared answers Unsupported",
    clauses=["contract.rename.7", "contract.capabilities.3"],
    needs=["rename_table"],
)
def undeclared_move(ns: Namespace, world: World) -> None:
    if "rename_table.new_namespace_id" in ns.capabilities:
        world.skip("rename_table.new_namespace_id is declared")
    first, second = world.created(ns, "first"), world.created(ns, "second")
    ns.declare_table((*first, "t"))
    with raises(ErrorCode.UNSUPPORTED):
        ns.rename_table((*first, "t"), "t", new_namespace_id=second)
    assert ns.table_exists((*first, "t"))
    assert list(ns.list_tables(second)) == []


@scenario("asking for no vended credentials is nothing special")
def no_credentials_wanted(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    location = ns.declare_table(table, vend_credentials=False).location
    assert ns.describe_table(table, vend_credentials=False).location == location


@scenario(
    "an identity that cannot be honoured answers Unsupported in every basic call",
    clauses=["contract.capabilities.7", "decisions.per-request.3"],
)
def undeclared_identity(ns: Namespace, world: World) -> None:
    if "identity" in ns.capabilities:
        world.skip("identity is declared")
    id, who = world.created(ns), Identity(auth_token="of another")  # noqa: S106
    requests: list[Request] = [  # type: ignore[type-arg]
        CreateNamespaceRequest(id=world.namespace("other"), identity=who),
        ListNamespacesRequest(id=world.expect.base, identity=who),
        DescribeNamespaceRequest(id=id, identity=who),
        DropNamespaceRequest(id=id, identity=who),
        DeclareTableRequest(id=(*id, "t"), identity=who),
        ListTablesRequest(id=id, identity=who),
        DescribeTableRequest(id=(*id, "t"), identity=who),
        DeregisterTableRequest(id=(*id, "t"), identity=who),
    ]
    for request in requests:
        with raises(ErrorCode.UNSUPPORTED):
            ns.call(request)
    assert ns.namespace_exists(id)
    assert list(ns.list_tables(id)) == []
