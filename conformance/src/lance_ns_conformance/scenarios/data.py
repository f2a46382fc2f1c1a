"""Data: written and read through pylance, and safe whatever happens to its entry."""

from typing import Any

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World


def rows(*ids: int) -> Any:
    """A small table."""
    import pyarrow as pa

    return pa.table({"id": list(ids)})


def written(ns: Namespace, world: World) -> tuple[Levels, str]:
    """A table with three rows, and where they are."""
    table = (*world.created(ns), "t")
    ns.write(table, rows(1, 2, 3))
    location = ns.describe_table(table).location
    assert location is not None
    return table, location


def count(location: str, ns: Namespace) -> int:
    """The rows at a location, read past the catalog."""
    import lance

    try:
        number: int = lance.dataset(location, storage_options=dict(ns.storage)).count_rows()
    except ValueError as error:
        raise AssertionError(f"there is no data at {location} any more: {error}") from None
    return number


@scenario(
    "a table that was written is read through the catalog",
    clauses=["iceberg.lance-table-identification.5"],
    dialect=True,
)
def round_trip(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    assert ns.dataset(table).to_table()["id"].to_pylist() == [1, 2, 3]


@scenario("appending and overwriting make versions, and older ones stay readable")
def versions(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    ns.write(table, rows(4), mode="append")
    ns.write(table, rows(9), mode="overwrite")
    assert ns.dataset(table).to_table()["id"].to_pylist() == [9]
    assert ns.dataset(table, version=2).count_rows() == 4
    assert ns.dataset(table, version=1).count_rows() == 3


@scenario("creating a table that has data answers TableAlreadyExists and keeps the data")
def create_over_data(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    with raises(ErrorCode.TABLE_ALREADY_EXISTS):
        ns.write(table, rows(9))
    assert ns.dataset(table).count_rows() == 3


@scenario(
    "the data of a deregistered table stays readable",
    clauses=[
        "contract.data-safety.1",
        "unity.deregister-table.steps.4",
        "polaris.deregister-table.steps.4",
        "iceberg.deregister-table.steps.2",
        "hive3.deregister-table.steps.3",
        "glue.deregister-table.steps.2",
    ],
    dialect=True,
)
def deregister_keeps_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.deregister_table(table)
    assert count(location, ns) == 3


@scenario("dropping a table without asking for it deletes no data", clauses=["contract.data-safety.6"])
def drop_keeps_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.drop_table(table)
    assert not ns.table_exists(table)
    assert count(location, ns) == 3


@scenario("dropping a table with its data deletes it", clauses=["contract.data-safety.7"])
def drop_deletes_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.drop_table(table, delete_data=True)
    assert not ns.table_exists(table)
    try:
        left = count(location, ns)
    except AssertionError:
        return
    raise AssertionError(f"{left} rows are still at {location}")


@scenario(
    "cascading over a namespace deletes no data", clauses=["contract.data-safety.2"], needs=["drop_namespace.cascade"]
)
def cascade_keeps_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.drop_namespace(table[:-1], behavior="cascade")
    assert count(location, ns) == 3


@scenario("a namespace that holds a table with data is not dropped", clauses=["contract.drop-behaviors.4"])
def restrict_keeps_data(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
        ns.drop_namespace(table[:-1])
    assert ns.dataset(table).count_rows() == 3


@scenario(
    "a declared table is told from one with data",
    clauses=[
        "contract.declared-or-with-data.1",
        "contract.declared-or-with-data.2",
        "contract.declared-or-with-data.4",
        "contract.declared-or-with-data.5",
        "contract.declare.6",
        "decisions.declared-or-with-data.3",
        "decisions.declared-or-with-data.4",
        "unity.declare-table.steps.9",
        "polaris.declare-table.steps.8",
        "iceberg.declare-table.steps.7",
        "hive3.declare-table.steps.6",
        "glue.declare-table.steps.5",
        "unity.lance-table-identification.5",
        "polaris.lance-table-identification.4",
        "iceberg.lance-table-identification.4",
        "hive3.lance-table-identification.5",
        "glue.lance-table-identification.5",
    ],
    dialect=True,
)
def declared_or_with_data(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    declared = (*table[:-1], "declared")
    ns.declare_table(declared)
    assert ns.describe_table(table, check_declared=True).is_only_declared is False
    assert ns.describe_table(declared, check_declared=True).is_only_declared is True
    assert list(ns.list_tables(table[:-1], include_declared=False)) == ["t"]


@scenario("opening a declared table answers InvalidTableState", clauses=["contract.bridge.5"])
def open_declared(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with raises(ErrorCode.INVALID_TABLE_STATE):
        ns.dataset(table)


@scenario(
    "detailed metadata has version, schema and stats of the data",
    clauses=["contract.detailed-metadata.1", "decisions.detailed-metadata.2", "unity.describe-table.steps.4"],
)
def details(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    found = ns.describe_table(table, load_detailed_metadata=True)
    assert found.version == 1
    assert found.table_uri, "the details have no URI"
    assert found.stats is not None
    assert [field["name"] for field in (found.schema or {})["fields"]] == ["id"]


@scenario("a missing version answers TableVersionNotFound", clauses=["contract.detailed-metadata.5"])
def missing_version(ns: Namespace, world: World) -> None:
    table, _ = written(ns, world)
    with raises(ErrorCode.TABLE_VERSION_NOT_FOUND):
        ns.dataset(table, version=99)
    with raises(ErrorCode.TABLE_VERSION_NOT_FOUND):
        ns.describe_table(table, version=99)


@scenario("pylance writes and reads through the bridge", clauses=["contract.bridge.1", "contract.bridge.4"])
def bridge(ns: Namespace, world: World) -> None:
    import lance

    table = (*world.created(ns), "t")
    client = {"namespace_client": ns.as_lance(), "table_id": list(table)}
    lance.write_dataset(rows(1, 2), mode="create", **client)
    lance.write_dataset(rows(3), mode="append", **client)
    assert lance.dataset(**client).count_rows() == 3
    assert ns.dataset(table).count_rows() == 3


@scenario(
    "of racing writers that create one table exactly one succeeds, and its rows stay",
    clauses=["contract.concurrency.5"],
    live_only=True,
)
def racing_writers(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table = (*world.created(ns), "t")
    winners = []

    def write(number: int) -> None:
        ns.write(table, rows(number))
        winners.append(number)

    assert outcomes(write) == {"ok": 1, "TableAlreadyExists": 7}
    assert ns.dataset(table).to_table()["id"].to_pylist() == winners
