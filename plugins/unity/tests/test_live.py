"""A Unity server and a plain client of it: what we declare it sees, what it makes we tell apart, and many at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import lance
import pyarrow as pa
import pytest

import lance_ns
from lance_ns import errors
from lance_ns_unity.conformance import UnityNative

pytestmark = pytest.mark.live("unity")


@pytest.fixture
def properties(live_server) -> dict[str, Any]:
    given = live_server("unity").properties
    del given["backend"]
    return given


@pytest.fixture
def ns(properties) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("unity", properties) as connection:
        yield connection


@pytest.fixture
def plain(properties) -> Iterator[UnityNative]:
    client = UnityNative(properties)
    yield client
    client.close()


@pytest.fixture
def space(ns) -> Iterator[tuple[str, ...]]:
    id = ("lance", f"w{uuid4().hex[:8]}")
    ns.create_namespace(id, properties={"team": "ml"})
    yield id
    for table in list(ns.list_tables(id)):
        ns.deregister_table((*id, table))
    ns.drop_namespace(id)


def test_another_client_sees_our_schema_and_table_and_no_longer_after_deregistering(ns, space, plain):
    vector = pa.field("vector", pa.list_(pa.float32(), 4))
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), vector])
    location = ns.declare_table((*space, "t"), properties={"owner": "ann"}, schema=schema).location
    assert plain.load_schema(space)["properties"] == {"team": "ml"}
    seen = plain.load((*space, "t"))
    assert (seen["table_type"], seen["data_source_format"], seen["storage_location"]) == ("EXTERNAL", "TEXT", location)
    assert seen["properties"] == {"owner": "ann", "table_type": "lance"}
    columns = [(each["name"], each["type_name"], each["type_text"], each["nullable"]) for each in seen["columns"]]
    assert columns == [("id", "LONG", "bigint", False), ("vector", "ARRAY", "array<float>", True)]
    ns.deregister_table((*space, "t"))
    assert not plain.holds((*space, "t"))


def test_tables_of_another_client_are_not_listed_and_never_touched(ns, space, plain):
    foreign = plain.make_foreign(space, "theirs")
    ns.declare_table((*space, "ours"))
    assert list(ns.list_tables(space)) == ["ours"]
    for name in foreign:
        assert not ns.table_exists((*space, name))
        for call in (ns.describe_table, ns.deregister_table):
            with pytest.raises(errors.InvalidInput):
                call((*space, name))
        with pytest.raises(errors.TableAlreadyExists):
            ns.declare_table((*space, name))
        with pytest.raises(errors.NamespaceNotEmpty):
            ns.drop_namespace(space)
        assert plain.holds((*space, name))
        plain.remove((*space, name))


def test_what_another_client_marks_as_lance_is_ours_and_what_it_deletes_keeps_its_data(ns, space, plain, properties):
    place = f"{properties['root']}/{space[1]}-theirs"
    plain.make_lance((*space, "theirs"), place, "LANCE")
    ns.write((*space, "theirs"), [{"v": 1}])
    assert list(ns.list_tables(space)) == ["theirs"]
    assert ns.dataset((*space, "theirs")).count_rows() == 1
    plain.remove((*space, "theirs"))
    with pytest.raises(errors.TableNotFound):
        ns.describe_table((*space, "theirs"))
    assert lance.dataset(place).count_rows() == 1


def test_all_tables_are_listed_however_many_pages_the_server_makes_of_them(ns, space, plain):
    ours = [f"t{number:03}" for number in range(130)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: ns.declare_table((*space, name)), ours))
    for number in range(0, 130, 10):
        plain.make((*space, f"t{number:03}x"), {})
    try:
        assert sorted(ns.list_tables(space)) == ours
        for limit in (7, 100, 1000):
            found: list[str] = []
            token: str | None = ""
            while token is not None:
                page = ns.list_tables_page(space, limit=limit, page_token=token)
                assert len(page.tables) <= limit
                found += page.tables
                token = page.page_token
            assert sorted(found) == ours, f"pages of {limit}"
    finally:
        for number in range(0, 130, 10):
            plain.remove((*space, f"t{number:03}x"))


def test_all_schemas_are_listed_however_many_pages_the_server_makes_of_them(ns):
    mark = uuid4().hex[:8]
    made = [f"s{number:03}_{mark}" for number in range(105)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: ns.create_namespace(("lance", name)), made))
    try:
        assert sorted(name for name in ns.list_namespaces("lance") if name.endswith(mark)) == made
    finally:
        for name in made:
            ns.drop_namespace(("lance", name))


def test_sixteen_threads_on_one_connection_lose_nothing(ns, space):
    names = [f"t{number:03}" for number in range(160)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: ns.declare_table((*space, name), properties={"is": name}), names))
        assert sorted(ns.list_tables(space)) == names
        found = list(pool.map(lambda name: (ns.describe_table((*space, name)).properties or {})["is"], names))
        assert found == names
        list(pool.map(lambda name: ns.deregister_table((*space, name)), names))
    assert list(ns.list_tables(space)) == []


def test_connections_of_one_process_that_create_one_table_at_once_make_exactly_one(properties, ns, space):
    """Official servers look and then write: without care of ours some of these would all succeed."""

    def created(connection: lance_ns.Namespace, name: str) -> bool:
        try:
            connection.declare_table((*space, name))
        except errors.TableAlreadyExists:
            return False
        return True

    with lance_ns.connect("unity", properties) as other, ThreadPoolExecutor(8) as pool:
        for name in ("a", "b", "c", "d", "e"):
            outcomes = list(pool.map(created, [ns, other] * 4, [name] * 8))
            assert outcomes.count(True) == 1
            assert ns.describe_table((*space, name)).location


TABLE_NAMES = [
    *("a b", "a%b", "%2F", "%41", "a/b", "/", "//", "a;b=c", "?", "#", "a?b=c", "+", "&", "\\", "a.b", ".a", "a."),
    *(" a", "a ", "日本", "😀", "é", "...", "x" * 255, "$", "schemas", "@", "-", "_"),
]


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_a_table_with_an_odd_name_is_refused_or_found_again_under_exactly_that_name(ns, space, name):
    id = (*space, name)
    try:
        ns.declare_table(id)
    except errors.InvalidInput:
        assert not ns.table_exists(id)
        assert list(ns.list_tables(space)) == []
        return
    assert list(ns.list_tables(space)) == [name]
    assert ns.describe_table(id).table == name
    ns.deregister_table(id)
    assert list(ns.list_tables(space)) == []
