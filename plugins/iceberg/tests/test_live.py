"""Iceberg REST servers and another client of theirs: what we declare they see, what they make we tell apart."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import lance
import pyarrow as pa
import pytest

import lance_ns
from lance_ns import errors

pyiceberg_rest = pytest.importorskip("pyiceberg.catalog.rest", reason="pyiceberg is the witness")

pytestmark = [pytest.mark.live("iceberg"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def properties(live_server) -> dict[str, Any]:
    given = live_server("iceberg").properties
    del given["backend"]
    return given


@pytest.fixture
def ns(properties) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("iceberg", properties) as connection:
        yield connection


@pytest.fixture
def witness(properties):
    return pyiceberg_rest.RestCatalog("witness", uri=properties["endpoint"], warehouse=properties["warehouse"])


@pytest.fixture
def space(ns) -> Iterator[tuple[str, ...]]:
    id = ("lance", f"w{uuid4().hex[:8]}")
    ns.create_namespace(id)
    yield id
    for table in list(ns.list_tables(id)):
        ns.deregister_table((*id, table))
    ns.drop_namespace(id)


def test_another_client_sees_our_namespaces_and_tables_and_no_longer_after_deregistering(ns, space, witness):
    ns.declare_table((*space, "t"), properties={"owner": "ann"})
    assert (space[1],) in witness.list_namespaces()
    assert witness.list_tables(space[1]) == [(space[1], "t")]
    seen = witness.load_table((space[1], "t"))
    assert [field.name for field in seen.schema().fields] == ["dummy"]
    assert not seen.schema().fields[0].required
    assert (seen.properties["table_type"], seen.properties["owner"]) == ("lance", "ann")
    assert seen.metadata.location == ns.describe_table((*space, "t")).location
    ns.deregister_table((*space, "t"))
    assert witness.list_tables(space[1]) == []


def test_tables_of_another_client_are_not_listed_and_never_touched(ns, space, witness):
    schema = pa.schema([("v", pa.int64())])
    witness.create_table((space[1], "theirs"), schema)
    ns.declare_table((*space, "ours"))
    assert list(ns.list_tables(space)) == ["ours"]
    assert not ns.table_exists((*space, "theirs"))
    for call in (ns.describe_table, ns.deregister_table):
        with pytest.raises(errors.InvalidInput):
            call((*space, "theirs"))
    with pytest.raises(errors.InvalidInput):
        ns.rename_table((*space, "theirs"), "stolen")
    with pytest.raises(errors.TableAlreadyExists):
        ns.declare_table((*space, "theirs"))
    with pytest.raises(errors.NamespaceNotEmpty):
        ns.drop_namespace(space)
    assert witness.table_exists((space[1], "theirs"))
    witness.drop_table((space[1], "theirs"))


def test_a_table_that_another_client_marks_as_lance_is_ours_from_then_on(ns, space, witness):
    table = witness.create_table((space[1], "marked"), pa.schema([("v", pa.int64())]))
    assert list(ns.list_tables(space)) == []
    with table.transaction() as change:
        change.set_properties(table_type="Lance")
    assert list(ns.list_tables(space)) == ["marked"]
    ns.write((*space, "marked"), [{"v": 1}])
    assert ns.dataset((*space, "marked")).count_rows() == 1


def test_lance_data_and_iceberg_metadata_stay_readable_side_by_side(ns, space, witness):
    id = (*space, "both")
    for step in range(3):
        ns.write(id, pa.table({"v": [step]}), mode="append" if step else "create")
        ns.alter_table_properties(id, updates={"step": str(step)})
    dataset = ns.dataset(id)
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(older_than=None, retain_versions=1)
    assert sorted(ns.dataset(id).to_table().column("v").to_pylist()) == [0, 1, 2]
    seen = witness.load_table((space[1], "both"))
    assert seen.properties["step"] == "2"
    with seen.transaction() as change:
        change.set_properties(from_witness="yes")
    assert ns.describe_table(id).properties["from_witness"] == "yes"
    assert lance.dataset(str(ns.describe_table(id).location)).count_rows() == 3


def test_what_another_client_renames_or_drops_is_gone_for_us_and_the_data_stays(ns, space, witness):
    id = (*space, "t")
    ns.write(id, [{"v": 1}])
    location = str(ns.describe_table(id).location)
    witness.rename_table((space[1], "t"), (space[1], "u"))
    assert list(ns.list_tables(space)) == ["u"]
    assert ns.dataset((*space, "u")).count_rows() == 1
    witness.drop_table((space[1], "u"))
    with pytest.raises(errors.TableNotFound):
        ns.describe_table((*space, "u"))
    assert lance.dataset(location).count_rows() == 1


def test_sixteen_threads_alter_one_table_and_no_change_is_lost(ns, space):
    id = (*space, "t")
    ns.declare_table(id)

    def alter(number: int) -> int:
        attempts = 0
        while True:
            attempts += 1
            try:
                ns.alter_table_properties(id, updates={f"k{number}": str(number)})
            except errors.ConcurrentModification:
                continue
            return attempts

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(alter, range(64)))
    properties = ns.describe_table(id).properties
    assert {f"k{number}": str(number) for number in range(64)}.items() <= properties.items()


@pytest.mark.live("iceberg-lenient")
def test_a_lenient_server_is_not_believed_when_it_would_make_namespaces_up(live_server):
    given = live_server("iceberg-lenient").properties
    del given["backend"]
    with lance_ns.connect("iceberg", given) as ns:
        for call in (
            lambda: ns.create_namespace("lance$absent$child"),
            lambda: ns.declare_table("lance$absent$t"),
        ):
            with pytest.raises(errors.NamespaceNotFound):
                call()
        ns.create_namespace("lance$here")
        ns.declare_table("lance$here$t")
        with pytest.raises(errors.NamespaceNotFound):
            ns.rename_table("lance$here$t", "t", new_namespace_id="lance$absent")
        assert not ns.namespace_exists("lance$absent")
        ns.deregister_table("lance$here$t")
        ns.drop_namespace("lance$here")
