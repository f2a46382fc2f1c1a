"""Writing: every mode in every state of a table."""

from pathlib import Path

from lance_ns.errors import ErrorCode, InvalidInput, LanceNsError
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace, WriteMode
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.data import count, rows, written
from lance_ns_conformance.world import World

WRITING: tuple[WriteMode, ...] = ("create", "overwrite")


def declared(ns: Namespace, world: World) -> Levels:
    """A table without data."""
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    return table


def local_place(ns: Namespace, table: Levels) -> Path | None:
    """The directory of a table, made if it is not there, or None when it is not on this machine."""
    location = (ns.describe_table(table).location or "").removeprefix("file://")
    if "://" in location:
        return None
    place = Path(location)
    place.mkdir(parents=True, exist_ok=True)
    return place


@scenario("a declared table is created by writing it")
def create_declared(ns: Namespace, world: World) -> None:
    table = declared(ns, world)
    before = ns.describe_table(table).location
    ns.write(table, rows(1, 2))
    assert ns.dataset(table).count_rows() == 2
    assert ns.describe_table(table).location == before


@scenario("appending to a declared table writes its first version")
def append_declared(ns: Namespace, world: World) -> None:
    table = declared(ns, world)
    ns.write(table, rows(1), mode="append")
    assert ns.dataset(table).version == 1


@scenario("overwriting a declared table writes its first version")
def overwrite_declared(ns: Namespace, world: World) -> None:
    table = declared(ns, world)
    ns.write(table, rows(1), mode="overwrite")
    assert ns.dataset(table).version == 1


@scenario("overwriting a missing table declares it")
def overwrite_missing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.write(table, rows(1), mode="overwrite")
    assert list(ns.list_tables(table[:-1])) == ["t"]
    assert ns.dataset(table).count_rows() == 1


@scenario("appending to a missing table answers TableNotFound, and makes none", clauses=["contract.describe.2"])
def append_missing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with raises(ErrorCode.TABLE_NOT_FOUND):
        ns.write(table, rows(1), mode="append")
    assert not ns.table_exists(table)


@scenario("writing in a missing namespace answers NamespaceNotFound, and makes none", clauses=["contract.hierarchy.3"])
def in_missing_namespace(ns: Namespace, world: World) -> None:
    for mode in WRITING:
        with raises(ErrorCode.NAMESPACE_NOT_FOUND):
            ns.write((*world.namespace("absent"), "t"), rows(1), mode=mode)
    assert not ns.namespace_exists(world.namespace("absent"))


@scenario("an unknown mode of a write answers InvalidInput, and declares nothing", clauses=["contract.errors.1"])
def unknown_mode(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with raises(ErrorCode.INVALID_INPUT):
        ns.write(table, rows(1), mode="sometimes")  # type: ignore[arg-type]
    assert not ns.table_exists(table)


@scenario("a create that fails leaves nothing in the catalog", clauses=["contract.errors.1"])
def failed_create(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    try:
        ns.write(table, object())
    except LanceNsError:
        assert not ns.table_exists(table)
        return
    raise AssertionError("something that is no data was written")


@scenario(
    "data that does not fit answers TableSchemaValidationError, and the table stays", clauses=["contract.errors.1"]
)
def wrong_schema(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    table, _ = written(ns, world)
    with raises(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
        ns.write(table, pa.table({"other": ["x"]}), mode="append")
    assert ns.dataset(table).count_rows() == 3


@scenario("properties given to a write are those of the new table", clauses=["contract.properties.4"])
def with_properties(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    table = (*world.created(ns), "t")
    ns.create_table(table, rows(1), properties={"owner": "search"})
    assert (ns.describe_table(table).properties or {}).get("owner") == "search"
    assert ns.dataset(table).count_rows() == 1


@scenario(
    "a table is written at the location that is given", clauses=["contract.declare.5"], needs=["declare_table.location"]
)
def at_location(ns: Namespace, world: World) -> None:
    table, location = (*world.created(ns), "t"), f"{world.scratch}/given/place"
    ns.write(table, rows(1, 2), location=location)
    assert count(location, ns) == 2


@scenario(
    "tables with unusual names are written and read, each with its own data",
    clauses=["contract.default-locations.3", "contract.default-locations.2"],
)
def unusual_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    kept = {}
    for number, name in enumerate(["a/b", "a.b", "a b", "a%20b", "per%cent", "ünï", "日本", "A", "a"]):
        try:
            ns.write((*id, name), rows(number))
        except InvalidInput:
            continue
        except LanceNsError as error:
            if error.code is ErrorCode.TABLE_ALREADY_EXISTS and world.expect.folds_case:
                continue
            raise
        kept[name] = number
    for name, number in kept.items():
        assert ns.dataset((*id, name)).to_table()["id"].to_pylist() == [number], f"{name!r} has other data"


@scenario(
    "a given version is the one whose details are described",
    clauses=["contract.detailed-metadata.4", "contract.exists.8"],
)
def details_of_version(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    table, _ = written(ns, world)
    ns.write(table, pa.table({"other": ["x"]}), mode="overwrite")
    names = {}
    for version in (1, 2):
        found = ns.describe_table(table, version=version)
        assert found.version == version
        names[version] = [field["name"] for field in (found.schema or {})["fields"]]
        assert ns.table_exists(table, version=version)
    assert names == {1: ["id"], 2: ["other"]}
    assert not ns.table_exists(table, version=3)


@scenario("the data of a deregistered table outlives its namespace", clauses=["contract.data-safety.3"])
def outlives_namespace(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.deregister_table(table)
    ns.drop_namespace(table[:-1])
    assert count(location, ns) == 3


@scenario(
    "overwriting a namespace touches no data", clauses=["contract.data-safety.5", "decisions.create-mode-overwrite.3"]
)
def overwritten_namespace(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
        ns.create_namespace(table[:-1], mode="overwrite")
    assert ns.dataset(table).count_rows() == 3
    ns.deregister_table(table)
    ns.create_namespace(table[:-1], mode="overwrite")
    assert count(location, ns) == 3


@scenario(
    "declaring over a location with data leaves it as it was",
    clauses=["contract.data-safety.4"],
    needs=["declare_table.location"],
)
def declared_over_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.deregister_table(table)
    ns.declare_table((*table[:-1], "u"), location=location)
    assert count(location, ns) == 3
    assert ns.dataset((*table[:-1], "u")).to_table()["id"].to_pylist() == [1, 2, 3]


@scenario("dropping a table with its data leaves files that are no Lance dataset", clauses=["contract.data-safety.8"])
def foreign_files_stay(ns: Namespace, world: World) -> None:
    table = declared(ns, world)
    place = local_place(ns, table)
    if place is None:
        world.skip("the tables of this catalog are not on this machine")
    (place / "notes.txt").write_text("not ours")
    ns.drop_table(table, delete_data=True)
    assert (place / "notes.txt").read_text() == "not ours"


@scenario(
    "dropping a table with its data leaves that of another", clauses=["contract.data-safety.7", "contract.hierarchy.2"]
)
def drop_spares_others(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    ns.write((*table[:-1], "t2"), rows(7))
    ns.drop_table(table, delete_data=True)
    assert ns.dataset((*table[:-1], "t2")).to_table()["id"].to_pylist() == [7]


@scenario(
    "a table whose storage fails is listed and described, and never taken for one without data",
    clauses=[
        "contract.declared-or-with-data.7",
        "decisions.declared-or-with-data.1",
        "decisions.declared-or-with-data.2",
    ],
)
def storage_fails(ns: Namespace, world: World) -> None:
    table = declared(ns, world)
    place = local_place(ns, table)
    if place is None:
        world.skip("the tables of this catalog are not on this machine")
    (place / "_versions").mkdir()
    (place / "_versions" / "1.manifest").write_text("damaged")
    assert list(ns.list_tables(table[:-1])) == ["t"]
    ns.describe_table(table)
    with raises(*ErrorCode):
        ns.describe_table(table, check_declared=True)
    with raises(*ErrorCode):
        list(ns.list_tables(table[:-1], include_declared=False))


@scenario("racing appends are all kept", clauses=["contract.concurrency.6"], live_only=True)
def racing_appends(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table, _ = written(ns, world)
    assert outcomes(lambda number: ns.write(table, rows(10 + number), mode="append")) == {"ok": 8}
    assert sorted(ns.dataset(table).to_table()["id"].to_pylist()) == [1, 2, 3, *range(10, 18)]
