"""Creating, describing, listing and dropping namespaces, in every mode and behaviour."""

from lance_ns.derived import serve
from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Identifier
from lance_ns.models import CreateNamespaceRequest, DropNamespaceRequest, NamespaceExistsRequest
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World

EXISTS, MISSING, NOT_EMPTY = (
    ErrorCode.NAMESPACE_ALREADY_EXISTS,
    ErrorCode.NAMESPACE_NOT_FOUND,
    ErrorCode.NAMESPACE_NOT_EMPTY,
)


@scenario(
    "a namespace that was created is described and listed",
    clauses=[
        "contract.create-modes.1",
        "contract.exists.1",
        "contract.names-in-lists.1",
        "unity.list-namespaces.steps.2",
        "polaris.list-namespaces.steps.2",
        "polaris.namespace.1",
        "polaris.namespace.4",
        "iceberg.list-namespaces.steps.1",
        "iceberg.namespace.1",
        "iceberg.namespace.3",
        "glue.list-namespaces.steps.1",
        "glue.namespace.4",
        "decisions.depth.9",
    ],
    dialect=True,
)
def created_is_there(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.describe_namespace(id)
    assert world.shown(id[-1]) in ns.list_namespaces(world.expect.base)
    assert ns.namespace_exists(id)


@scenario(
    "a missing namespace is not described, and does not exist",
    clauses=[
        "contract.describe.8",
        "contract.exists.1",
        "unity.describe-namespace.errors.1",
        "polaris.describe-namespace.errors.1",
        "iceberg.describe-namespace.errors.1",
        "hive3.describe-namespace.errors.1",
        "glue.describe-namespace.errors.1",
    ],
    dialect=True,
)
def missing_is_not_there(ns: Namespace, world: World) -> None:
    with raises(MISSING):
        ns.describe_namespace(world.namespace())
    assert not ns.namespace_exists(world.namespace())


@scenario(
    "creating an existing namespace answers NamespaceAlreadyExists and changes nothing",
    clauses=[
        "contract.create-modes.2",
        "contract.create-modes.3",
        "contract.create-modes.10",
        "unity.create-namespace.errors.2",
        "polaris.create-namespace.errors.1",
        "iceberg.create-namespace.errors.1",
        "hive3.create-namespace.errors.1",
        "glue.create-namespace.errors.1",
    ],
    dialect=True,
)
def create_existing(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first"})
    before = ns.describe_namespace(id).properties
    with raises(EXISTS):
        ns.create_namespace(id, properties={"owner": "second"})
    assert ns.describe_namespace(id).properties == before


@scenario(
    "mode ExistOk keeps an existing namespace as it is",
    clauses=["contract.create-modes.4", "hive3.create-namespace.steps.4", "glue.create-namespace.steps.3"],
    dialect=True,
)
def create_exist_ok(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first"})
    before = ns.describe_namespace(id).properties
    ns.create_namespace(id, mode="exist_ok", properties={"owner": "second"})
    assert ns.describe_namespace(id).properties == before


@scenario("mode ExistOk creates a namespace that is missing", clauses=["contract.create-modes.5"])
def exist_ok_creates(ns: Namespace, world: World) -> None:
    ns.create_namespace(world.namespace(), mode="ExistOk")
    assert ns.namespace_exists(world.namespace())


@scenario("mode Overwrite creates a namespace that is missing", clauses=["contract.create-modes.9"])
def overwrite_creates(ns: Namespace, world: World) -> None:
    ns.create_namespace(world.namespace(), mode="Overwrite")
    assert ns.namespace_exists(world.namespace())


@scenario(
    "mode Overwrite replaces the properties of an empty namespace",
    clauses=[
        "contract.create-modes.7",
        "decisions.create-mode-overwrite.1",
        "hive3.create-namespace.steps.5",
        "glue.create-namespace.steps.4",
    ],
    dialect=True,
)
def overwrite_empty(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first", "gone": "soon"})
    ns.create_namespace(id, mode="overwrite", properties={"owner": "second"})
    if world.expect.namespace_properties:
        found = ns.describe_namespace(id).properties or {}
        assert found.get("owner") == "second", f"the properties are {dict(found)}"
        assert "gone" not in found, "a property of the old namespace is still there"


@scenario(
    "mode Overwrite refuses a namespace that holds a table, and loses nothing",
    clauses=[
        "contract.create-modes.8",
        "decisions.create-mode-overwrite.2",
        "decisions.create-mode-overwrite.3",
        "hive3.create-namespace.steps.5",
        "glue.create-namespace.errors.2",
    ],
    dialect=True,
)
def overwrite_with_table(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first"})
    before = ns.describe_namespace(id).properties
    ns.declare_table((*id, "t"))
    with raises(NOT_EMPTY):
        ns.create_namespace(id, mode="overwrite")
    assert ns.table_exists((*id, "t"))
    assert ns.describe_namespace(id).properties == before


@scenario(
    "modes are read in any of the contract's spellings",
    clauses=["contract.create-modes.11", "contract.create-modes.12"],
)
def mode_spellings(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for spelling in ("ExistOk", "exist_ok", "EXIST_OK", "existok"):
        ns.create_namespace(id, mode=spelling)
    with raises(ErrorCode.INVALID_INPUT):
        ns.create_namespace(id, mode="sometimes")


@scenario(
    "a namespace below a missing parent is refused with NamespaceNotFound",
    clauses=[
        "contract.create-modes.13",
        "polaris.create-namespace.errors.2",
        "iceberg.create-namespace.errors.2",
        "decisions.iceberg.11",
    ],
    dialect=True,
)
def create_below_missing(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    with raises(MISSING):
        ns.create_namespace((*world.namespace("absent"), "child"))
    assert not ns.namespace_exists(world.namespace("absent")), "the parent was made on the way"


@scenario(
    "namespaces nest, and a child is listed by its name alone",
    clauses=[
        "contract.names-in-lists.1",
        "contract.names-in-lists.3",
        "decisions.names.1",
        "polaris.list-namespaces.steps.3",
        "polaris.list-namespaces.steps.2",
        "iceberg.list-namespaces.steps.2",
        "iceberg.list-namespaces.steps.3",
        "decisions.polaris-wire.1",
    ],
    dialect=True,
)
def nested(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "child"), properties={"level": "two"})
    assert list(ns.list_namespaces(id)) == ["child"]
    assert "child" not in ns.list_namespaces(world.expect.base)
    assert ns.namespace_exists((*id, "child"))


@scenario(
    "listing below a missing namespace answers NamespaceNotFound, never an empty list",
    clauses=[
        "contract.names-in-lists.7",
        "polaris.list-namespaces.errors.1",
        "iceberg.list-namespaces.errors.1",
        "unity.list-tables.errors.1",
        "polaris.list-tables.errors.1",
        "iceberg.list-tables.errors.1",
        "hive3.list-tables.errors.1",
        "glue.list-tables.errors.1",
    ],
    dialect=True,
)
def list_below_missing(ns: Namespace, world: World) -> None:
    if world.child_possible():
        with raises(MISSING):
            list(ns.list_namespaces(world.namespace("absent")))
    with raises(MISSING):
        list(ns.list_tables(world.namespace("absent")))


@scenario("an empty namespace lists nothing", clauses=["contract.names-in-lists.6"], dialect=True)
def list_empty(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    assert list(ns.list_tables(id)) == []
    if world.child_possible():
        assert list(ns.list_namespaces(id)) == []


@scenario("an empty namespace is dropped and gone", clauses=["contract.drop-modes.1"], dialect=True)
def drop_empty(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.drop_namespace(id)
    assert not ns.namespace_exists(id)
    assert world.shown(id[-1]) not in ns.list_namespaces(world.expect.base)


@scenario(
    "dropping a missing namespace in mode Fail answers NamespaceNotFound",
    clauses=[
        "contract.drop-modes.2",
        "contract.drop-modes.4",
        "decisions.drop.1",
        "decisions.drop.2",
        "unity.drop-namespace.errors.1",
        "polaris.drop-namespace.errors.1",
        "iceberg.drop-namespace.errors.1",
        "hive3.drop-namespace.errors.1",
        "glue.drop-namespace.errors.1",
    ],
    dialect=True,
)
def drop_missing(ns: Namespace, world: World) -> None:
    if world.expect.drop_of_missing_succeeds:
        ns.drop_namespace(world.namespace())
        return
    with raises(MISSING):
        ns.drop_namespace(world.namespace())


@scenario(
    "dropping a missing namespace in mode Skip succeeds",
    clauses=[
        "contract.drop-modes.3",
        "decisions.drop.1",
        "decisions.drop.3",
        "hive3.drop-namespace.steps.1",
        "glue.drop-namespace.steps.2",
    ],
    dialect=True,
)
def drop_missing_skip(ns: Namespace, world: World) -> None:
    ns.drop_namespace(world.namespace(), mode="skip")


@scenario(
    "behavior Restrict refuses a namespace that holds a table, and loses nothing",
    clauses=[
        "contract.drop-behaviors.1",
        "contract.drop-behaviors.4",
        "contract.drop-behaviors.5",
        "unity.drop-namespace.errors.2",
        "polaris.drop-namespace.errors.2",
        "iceberg.drop-namespace.errors.2",
        "hive3.drop-namespace.errors.2",
        "glue.drop-namespace.errors.2",
    ],
    dialect=True,
)
def restrict_with_table(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    with raises(NOT_EMPTY):
        ns.drop_namespace(id)
    assert list(ns.list_tables(id)) == ["t"]


@scenario(
    "behavior Restrict refuses a namespace that holds a namespace",
    clauses=[
        "contract.drop-behaviors.2",
        "contract.drop-behaviors.4",
        "polaris.drop-namespace.errors.2",
        "iceberg.drop-namespace.errors.2",
    ],
    dialect=True,
)
def restrict_with_child(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "child"))
    with raises(NOT_EMPTY):
        ns.drop_namespace(id)
    assert ns.namespace_exists((*id, "child"))


@scenario(
    "behavior Cascade drops a namespace with its tables",
    clauses=[
        "contract.drop-behaviors.6",
        "contract.capabilities.5",
        "decisions.drop.4",
        "decisions.drop.5",
        "unity.drop-namespace.steps.3",
        "hive3.drop-namespace.steps.4",
        "glue.drop-namespace.steps.3",
    ],
    needs=["drop_namespace.cascade"],
    dialect=True,
)
def cascade_with_table(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    ns.drop_namespace(id, behavior="cascade")
    assert not ns.namespace_exists(id)
    with raises(ErrorCode.TABLE_NOT_FOUND):
        ns.describe_table((*id, "t"))


@scenario(
    "behavior Cascade drops namespaces of any depth",
    clauses=["contract.drop-behaviors.6"],
    needs=["drop_namespace.cascade"],
)
def cascade_deep(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "child"))
    ns.declare_table((*id, "child", "t"))
    ns.drop_namespace(id, behavior="cascade")
    assert not ns.namespace_exists(id)
    assert not ns.namespace_exists((*id, "child"))


@scenario("a dropped namespace can be created again, empty", clauses=["contract.drop-modes.8"])
def create_again(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first"})
    ns.drop_namespace(id)
    ns.create_namespace(id)
    assert list(ns.list_tables(id)) == []
    if world.expect.namespace_properties:
        assert (ns.describe_namespace(id).properties or {}).get("owner") != "first"


@scenario("the root exists, and cannot be dropped", clauses=["contract.root.1", "contract.root.3", "decisions.depth.1"])
def root(ns: Namespace, world: World) -> None:
    assert ns.namespace_exists()
    with raises(ErrorCode.INVALID_INPUT):
        ns.drop_namespace(None, behavior="restrict")


@scenario("what one connection creates, another sees at once", clauses=["contract.create-modes.1"])
def seen_by_another(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with world.connect() as other:
        assert other.namespace_exists(id)


@scenario("a namespace of another parent is another namespace", clauses=["contract.identifiers.7"])
def same_name_elsewhere(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    first, second = world.created(ns, "first"), world.created(ns, "second")
    ns.create_namespace((*first, "same"))
    assert not ns.namespace_exists((*second, "same"))
    ns.create_namespace((*second, "same"))
    ns.drop_namespace((*first, "same"))
    assert ns.namespace_exists((*second, "same"))


@scenario(
    "of racing creators exactly one succeeds, and the others find it taken",
    clauses=["contract.concurrency.1"],
    live_only=True,
)
def racing_creators(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    def create(_: int) -> None:
        ns.create_namespace(world.namespace())

    assert outcomes(create) == {"ok": 1, "NamespaceAlreadyExists": 7}


@scenario("racing creators in mode ExistOk all succeed", clauses=["contract.concurrency.3"], live_only=True)
def racing_exist_ok(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    assert outcomes(lambda _: ns.create_namespace(world.namespace(), mode="exist_ok")) == {"ok": 8}


@scenario(
    "mode Overwrite refuses a namespace that holds a namespace",
    clauses=["contract.create-modes.8", "decisions.create-mode-overwrite.2"],
    dialect=True,
)
def overwrite_with_child(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "child"))
    with raises(NOT_EMPTY):
        ns.create_namespace(id, mode="overwrite")
    assert list(ns.list_namespaces(id)) == ["child"]


@scenario("mode Overwrite without properties leaves none of the old ones", clauses=["contract.create-modes.7"])
def overwrite_without_properties(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"owner": "first"})
    ns.create_namespace(id, mode="overwrite")
    assert "owner" not in (ns.describe_namespace(id).properties or {})


@scenario("mode Overwrite answers the properties that the namespace has now", clauses=["contract.create-modes.14"])
def overwrite_answers(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    id = world.created(ns, properties={"owner": "first", "gone": "soon"})
    answer = ns.create_namespace(id, mode="overwrite", properties={"owner": "second"}).properties or {}
    assert (answer.get("owner"), answer.get("gone")) == ("second", None)


@scenario("mode ExistOk answers the properties that the namespace has", clauses=["contract.create-modes.6"])
def exist_ok_answers(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    id = world.created(ns, properties={"owner": "first"})
    answer = ns.create_namespace(id, mode="exist_ok", properties={"owner": "second"}).properties or {}
    assert answer.get("owner") == "first"


@scenario("mode ExistOk keeps what a namespace holds", clauses=["contract.create-modes.4"])
def exist_ok_keeps_contents(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    ns.create_namespace(id, mode="exist_ok")
    assert list(ns.list_tables(id)) == ["t"]


@scenario("a create request without a mode means Create", clauses=["contract.create-modes.10"])
def create_by_request(ns: Namespace, world: World) -> None:
    id = world.namespace()
    ns.call(CreateNamespaceRequest(id=id))
    assert ns.namespace_exists(id)
    with raises(EXISTS):
        ns.call(CreateNamespaceRequest(id=id))


@scenario("an unknown mode of a create answers InvalidInput, and makes nothing", clauses=["contract.create-modes.12"])
def unknown_create_mode(ns: Namespace, world: World) -> None:
    for mode in ("", "append", "create!"):
        with raises(ErrorCode.INVALID_INPUT):
            ns.create_namespace(world.namespace(), mode=mode)
    assert not ns.namespace_exists(world.namespace())


@scenario(
    "in every mode a namespace below a missing parent is refused with NamespaceNotFound",
    clauses=["contract.create-modes.13"],
    dialect=True,
)
def every_mode_below_missing(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    for mode in ("exist_ok", "overwrite"):
        with raises(MISSING):
            ns.create_namespace((*world.namespace("absent"), "child"), mode=mode)
    assert not ns.namespace_exists(world.namespace("absent"))


@scenario(
    "an unknown mode or behavior of a drop answers InvalidInput, and drops nothing", clauses=["contract.drop-modes.6"]
)
def unknown_drop_mode(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with raises(ErrorCode.INVALID_INPUT):
        ns.drop_namespace(id, mode="gently")
    with raises(ErrorCode.INVALID_INPUT):
        ns.drop_namespace(id, behavior="gently")
    assert ns.namespace_exists(id)


@scenario(
    "modes and behaviors of a drop are read in any of the contract's spellings", clauses=["contract.drop-modes.7"]
)
def drop_spellings(ns: Namespace, world: World) -> None:
    for mode, behavior in (("Skip", "Restrict"), ("SKIP", "RESTRICT"), ("skip", "restrict"), ("sKip", "re_strict")):
        ns.drop_namespace(world.namespace(), mode=mode, behavior=behavior)


@scenario("mode Skip drops a namespace that is there", clauses=["contract.drop-modes.1"])
def skip_drops(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.drop_namespace(id, mode="skip")
    assert not ns.namespace_exists(id)


@scenario(
    "mode Skip does not excuse a namespace that holds a table",
    clauses=["contract.drop-modes.5", "contract.drop-behaviors.4"],
)
def skip_with_table(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    with raises(NOT_EMPTY):
        ns.drop_namespace(id, mode="skip")
    assert ns.table_exists((*id, "t"))


@scenario(
    "a drop request without mode and behavior means Fail and Restrict",
    clauses=["contract.drop-modes.4", "contract.drop-behaviors.5"],
)
def drop_by_request(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    with raises(NOT_EMPTY):
        ns.call(DropNamespaceRequest(id=id))
    if not world.expect.drop_of_missing_succeeds:
        with raises(MISSING):
            ns.call(DropNamespaceRequest(id=world.namespace("absent")))


@scenario(
    "dropping twice answers NamespaceNotFound the second time",
    clauses=["contract.drop-modes.2", "decisions.drop.1"],
    dialect=True,
)
def drop_twice(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.drop_namespace(id)
    if world.expect.drop_of_missing_succeeds:
        ns.drop_namespace(id)
        return
    with raises(MISSING):
        ns.drop_namespace(id)


@scenario("a namespace is dropped once its last table is deregistered", clauses=["contract.drop-modes.1"])
def drop_emptied(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    ns.deregister_table((*id, "t"))
    ns.drop_namespace(id)
    assert not ns.namespace_exists(id)


@scenario("what one connection drops, another misses at once", clauses=["contract.drop-modes.1"])
def missed_by_another(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with world.connect() as other:
        assert other.namespace_exists(id)
        ns.drop_namespace(id)
        assert not other.namespace_exists(id)


@scenario(
    "a namespace whose name begins as another's is another namespace",
    clauses=["contract.identifiers.7", "contract.drop-modes.1"],
)
def prefix_of_another(ns: Namespace, world: World) -> None:
    short, long = world.namespace(), world.namespace(world.name("ns"))
    ns.create_namespace(long)
    ns.declare_table((*long, "t"))
    assert not ns.namespace_exists(short)
    ns.create_namespace(short)
    assert list(ns.list_tables(short)) == []
    ns.drop_namespace(short)
    assert ns.table_exists((*long, "t"))


@scenario(
    "namespaces nest as deep as the catalog allows",
    clauses=["contract.names-in-lists.3", "polaris.namespace.3", "iceberg.namespace.2"],
    dialect=True,
)
def nested_deep(ns: Namespace, world: World) -> None:
    id = top = world.created(ns)
    for level in range(2, 1 + min(world.expect.max_depth or 4, 4)):
        id = (*id, f"l{level}")
        ns.create_namespace(id)
    ns.declare_table((*id, "t"))
    assert list(ns.list_tables(id)) == ["t"]
    for depth in range(len(top), len(id)):
        assert list(ns.list_namespaces(id[:depth])) == [id[depth]]


@scenario(
    "a listed namespace put after its parent is found",
    clauses=["contract.names-in-lists.2", "decisions.names.2"],
)
def listed_is_found(ns: Namespace, world: World) -> None:
    parent = world.expect.base
    id = world.created(ns)
    if world.child_possible():
        parent = id
        ns.create_namespace((*id, "child"))
    own = world.shown(id[-1])
    for name in ns.list_namespaces(parent):
        if world.child_possible() or name == own:
            ns.describe_namespace((*parent, name))


@scenario("creating the root answers NamespaceAlreadyExists", clauses=["contract.root.2"])
def create_root(ns: Namespace, world: World) -> None:
    with raises(EXISTS):
        ns.create_namespace(None)


@scenario(
    "the root is described by all of its forms", clauses=["contract.root.1", "contract.root.4", "decisions.depth.1"]
)
def root_forms(ns: Namespace, world: World) -> None:
    expected = ns.describe_namespace()
    forms: list[Identifier] = [None, "", "$", (), []]
    for form in forms:
        assert ns.describe_namespace(form) == expected, f"{form!r} is not the root"
        assert ns.namespace_exists(form)


@scenario("no mode and no behavior drops the root", clauses=["contract.root.3"])
def root_stays(ns: Namespace, world: World) -> None:
    behaviors = ["restrict", *(["cascade"] if "drop_namespace.cascade" in ns.capabilities else [])]
    for mode in ("fail", "skip"):
        for behavior in behaviors:
            with raises(ErrorCode.INVALID_INPUT):
                ns.drop_namespace((), mode=mode, behavior=behavior)
    assert ns.namespace_exists()


@scenario("the request form of exists answers NamespaceNotFound", clauses=["contract.exists.3"])
def exists_request(ns: Namespace, world: World) -> None:
    serve(ns, NamespaceExistsRequest(id=world.created(ns)))
    with raises(MISSING):
        serve(ns, NamespaceExistsRequest(id=world.namespace("absent")))


@scenario(
    "behavior Cascade drops an empty namespace", clauses=["contract.drop-behaviors.8"], needs=["drop_namespace.cascade"]
)
def cascade_empty(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.drop_namespace(id, behavior="cascade")
    assert not ns.namespace_exists(id)


@scenario(
    "behavior Cascade over a missing namespace does as the mode says",
    clauses=[
        "contract.drop-modes.2",
        "contract.drop-modes.3",
    ],
    needs=["drop_namespace.cascade"],
    dialect=True,
)
def cascade_missing(ns: Namespace, world: World) -> None:
    id = world.namespace()
    ns.drop_namespace(id, mode="skip", behavior="cascade")
    if world.expect.drop_of_missing_succeeds:
        ns.drop_namespace(id, behavior="cascade")
        return
    with raises(MISSING):
        ns.drop_namespace(id, behavior="cascade")


@scenario(
    "behavior Cascade leaves alone what lies beside the namespace",
    clauses=["contract.drop-behaviors.6"],
    needs=["drop_namespace.cascade"],
)
def cascade_spares(ns: Namespace, world: World) -> None:
    short, long = world.created(ns), world.created(ns, world.name("ns"))
    ns.declare_table((*short, "t"))
    ns.declare_table((*long, "t"))
    ns.drop_namespace(short, behavior="cascade")
    assert list(ns.list_tables(long)) == ["t"]


@scenario(
    "behavior Cascade drops a table that has properties, and a new one has none of them",
    needs=["drop_namespace.cascade"],
    clauses=["contract.drop-modes.8"],
)
def cascade_forgets(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"), properties={"owner": "first"})
    ns.drop_namespace(id, behavior="cascade")
    ns.create_namespace(id)
    assert list(ns.list_tables(id)) == []
    ns.declare_table((*id, "t"))
    assert "owner" not in (ns.describe_table((*id, "t")).properties or {})


@scenario(
    "threads that create different namespaces on one connection lose none",
    clauses=["contract.concurrency.6"],
    live_only=True,
)
def many_creators(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    ids = [world.namespace(f"n{number}") for number in range(8)]
    assert outcomes(lambda number: ns.create_namespace(ids[number])) == {"ok": 8}
    assert all(ns.namespace_exists(id) for id in ids)


@scenario(
    "racing creators on connections of their own make one namespace", clauses=["contract.concurrency.1"], live_only=True
)
def racing_connections(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    def create(_: int) -> None:
        with world.connect() as own:
            own.create_namespace(world.namespace())

    assert outcomes(create) == {"ok": 1, "NamespaceAlreadyExists": 7}


@scenario("racing droppers in mode Skip all succeed", clauses=["contract.drop-modes.3"], live_only=True)
def racing_droppers(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    id = world.created(ns)
    found = outcomes(lambda _: ns.drop_namespace(id, mode="skip"))
    assert found == {"ok": 8}, found
    assert not ns.namespace_exists(id)
