"""The client on real metastores of both versions."""

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import lance_ns
from lance_ns_hive3 import directories
from lance_ns_hive3.metastore import deadline, errors
from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.client import GET_CATALOG, GET_DATABASE, GET_TABLE
from lance_ns_hive3.metastore.locks import table_lock
from lance_ns_hive3.metastore.settings import Address
from lance_ns_hive3.metastore.transport import transports
from servers import faults, lifecycle
from servers.faults import FaultProxy
from servers.kinds.base import Machine
from servers.kinds.registry import SERVERS
from servers.paths import cache_directory
from servers.processes import Identity

BOTH = [pytest.param(name, marks=pytest.mark.live(name)) for name in ("hive3", "hive4")]
CHANGED_BY_THE_SERVER = {"transient_lastDdlTime", "numFiles", "totalSize", "numFilesErasureCoded"}
KEEP_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}


@pytest.fixture(params=BOTH)
def live(request, live_server):
    return live_server(request.param)


@pytest.fixture
def client(live, connect):
    return connect(Address("127.0.0.1", live.port))


@pytest.fixture
def catalog(client, tmp_path):
    """The name of a new catalog with an empty database `db`."""
    name = f"c{uuid.uuid4().hex[:12]}"
    client.create_catalog(s.Catalog(name=name, description="of a test", location_uri=(tmp_path / "lake").as_uri()))
    client.create_database(s.Database(name="db", catalog_name=name, parameters={"k": "v"}))
    return name


def external(catalog, name, **fields):
    parameters = {"EXTERNAL": "TRUE", "table_type": "lance", **fields.pop("parameters", {})}
    sd = fields.pop("sd", None) or s.StorageDescriptor(
        cols=[s.FieldSchema(name="id", type="bigint")],
        input_format="org.apache.hadoop.mapred.TextInputFormat",
        output_format="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serde_info=s.SerDeInfo(serialization_lib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    )
    return s.Table(
        cat_name=catalog, db_name="db", table_name=name, table_type="EXTERNAL_TABLE", parameters=parameters, sd=sd,
        **fields,
    )  # fmt: skip


def rich(catalog, name):
    """A table in which much is set that does not concern Lance."""
    table = external(
        catalog,
        name,
        owner="ann",
        owner_type=s.PrincipalType.ROLE,
        retention=7,
        last_access_time=1_700_000_000,
        partition_keys=[s.FieldSchema(name="day", type="date", comment="größe")],
        parameters={"comment": "日本 😀", "empty": ""},
        rewrite_enabled=False,
    )
    sd = table.sd
    sd.cols = [s.FieldSchema(name="a", type="int", comment="first"), s.FieldSchema(name="b", type="string")]
    sd.compressed, sd.num_buckets, sd.stored_as_sub_directories = True, 4, True
    sd.bucket_cols, sd.sort_cols = ["a"], [s.Order(col="a", order=1), s.Order(col="b", order=0)]
    sd.parameters = {"sd": "parameter"}
    sd.serde_info.name, sd.serde_info.parameters = "serde", {"field.delim": ","}
    sd.skewed_info = s.SkewedInfo(
        skewed_col_names=["a"],
        skewed_col_values=[["1"], ["2"]],
        skewed_col_value_location_maps={("1",): f"file:/tmp/{name}/1"},
    )
    return table


def comparable(table):
    """All that is set in a table, less what a server keeps account of itself."""
    kept = {key: value for key, value in table.parameters.items() if key not in CHANGED_BY_THE_SERVER}
    return table.fields() | {"parameters": kept}


# --- calls -----------------------------------------------------------------------------------------------------------


def test_catalogs_are_made_read_changed_and_dropped(client, catalog, tmp_path):
    assert {"hive", catalog} <= set(client.get_catalogs())
    found = client.get_catalog(catalog)
    assert (found.name, found.description) == (catalog, "of a test")
    found.description = "changed"
    client.alter_catalog(catalog, found)
    assert client.get_catalog(catalog) == found
    client.drop_database(catalog, "db")
    client.drop_catalog(catalog)
    assert catalog not in client.get_catalogs()


def test_databases_are_made_read_changed_and_dropped(client, catalog):
    assert sorted(client.get_databases(catalog)) == ["db", "default"]
    found = client.get_database(catalog, "db")
    assert (found.name, found.catalog_name, found.parameters) == ("db", catalog, {"k": "v"})
    found.parameters = {"größe": "日本 😀", "empty": ""}
    found.description, found.owner_name, found.owner_type = "changed", "ann", s.PrincipalType.GROUP
    client.alter_database(catalog, "db", found)
    assert client.get_database(catalog, "db") == found
    client.drop_database(catalog, "db")
    assert client.get_databases(catalog) == ["default"]


def test_tables_are_made_found_in_every_way_changed_and_dropped(client, catalog, tmp_path):
    client.create_table(external(catalog, "t"))
    client.create_table(external(catalog, "other", parameters={"table_type": "iceberg"}))
    assert sorted(client.get_all_tables(catalog, "db")) == ["other", "t"]
    assert sorted(client.get_tables_by_type(catalog, "db", "EXTERNAL_TABLE")) == ["other", "t"]
    assert client.get_tables_by_type(catalog, "db", "VIRTUAL_VIEW") == []
    condition = 'hive_filter_field_params__table_type LIKE "lance"'
    assert client.get_table_names_by_filter(catalog, "db", condition) == ["t"]
    assert [each.table_name for each in client.get_tables(catalog, "db", ["t", "missing"])] == ["t"]
    found = client.get_table(catalog, "db", "t")
    assert (found.table_type, found.cat_name) == ("EXTERNAL_TABLE", catalog)
    found.table_name = "u"
    client.alter_table(catalog, "db", "t", found)
    assert sorted(client.get_all_tables(catalog, "db")) == ["other", "u"]
    client.drop_table(catalog, "db", "u")
    assert client.get_all_tables(catalog, "db") == ["other"]


def test_dropping_leaves_the_data(client, catalog, tmp_path):
    place = tmp_path / "data"
    table = external(catalog, "t", parameters={"external.table.purge": "TRUE"})
    table.sd.location = place.as_uri()
    client.create_table(table)
    (place / "file").write_text("precious")
    client.drop_table(catalog, "db", "t")
    client.drop_database(catalog, "db")
    client.drop_catalog(catalog)
    assert (place / "file").read_text() == "precious"


@pytest.mark.parametrize("make", [external, rich], ids=["plain", "rich"])
def test_a_table_that_is_read_and_written_back_loses_nothing(client, catalog, make):
    made = make(catalog, "t")
    client.create_table(made)
    before = client.get_table(catalog, "db", "t")
    client.alter_table(catalog, "db", "t", before, KEEP_STATISTICS)
    after = client.get_table(catalog, "db", "t")
    assert comparable(after) == comparable(before)
    stored = comparable(after)
    for name, value in comparable(made).items():
        if name != "sd":
            assert stored[name] == value, name
    for name, value in made.sd.fields().items():
        if name not in ("cols", "serde_info"):
            assert stored["sd"].fields()[name] == value, name


def test_no_field_that_the_server_sends_is_left_out(client, catalog):
    """What was read is as long when it is written again: nothing in it was unknown to our tables."""
    client.create_table(rich(catalog, "t"))
    taped = bytearray()

    class Taping:
        def __init__(self, inner):
            self._inner = inner

        def read(self, size):
            data = self._inner.read(size)
            taped.extend(data)
            return data

        def readAll(self, size):  # noqa: N802
            data = self._inner.readAll(size)
            taped.extend(data)
            return data

        def __getattr__(self, name):
            return getattr(self._inner, name)

    client.close()
    request = s.GetTableRequest(cat_name=catalog, db_name="db", tbl_name="t")
    with transports(Taping):
        for call, argument in (
            (GET_TABLE, request),
            (GET_DATABASE, f"@{catalog}#db"),
            (GET_CATALOG, s.GetCatalogRequest(name=catalog)),
        ):
            taped.clear()
            result = client.ask(call, argument)
            header = 12 + len(call.name)
            assert len(written(call.empty_result(f0=result))) == len(taped) - header, call.name


def written(content):
    from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
    from thrift.transport.TTransport import TMemoryBuffer

    buffer = TMemoryBuffer()
    content.write(TBinaryProtocolAccelerated(buffer))
    return buffer.getvalue()


# --- errors ----------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_with_a_type_of_its_own(client, catalog):
    nowhere = external("nope", "t")
    for call, kind in (
        (lambda: client.get_catalog("nope"), errors.NoSuchObject),
        (lambda: client.drop_catalog("nope"), errors.NoSuchObject),
        (lambda: client.get_database(catalog, "nope"), errors.NoSuchObject),
        (lambda: client.get_table(catalog, "db", "nope"), errors.NoSuchObject),
        (lambda: client.drop_table(catalog, "db", "nope"), errors.NoSuchObject),
        (lambda: client.get_tables(catalog, "nope", ["t"]), errors.UnknownDatabase),
        (lambda: client.alter_table(catalog, "db", "nope", external(catalog, "nope")), errors.InvalidOperation),
        (lambda: client.create_table(nowhere), errors.InvalidObject),
        (lambda: client.check_lock(2**60), errors.NoSuchLock),
        (lambda: client.heartbeat(2**60), errors.NoSuchLock),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.native.startswith(f"{errors.NATIVE[kind]}: ")
        assert "\n" not in caught.value.message


def test_what_is_there_already_or_in_use_is_said_with_a_type_of_its_own(client, catalog, tmp_path):
    client.create_table(external(catalog, "t"))
    for call, kind in (
        (lambda: client.create_catalog(client.get_catalog(catalog)), errors.AlreadyExists),
        (lambda: client.create_database(client.get_database(catalog, "db")), errors.AlreadyExists),
        (lambda: client.create_table(external(catalog, "t")), errors.AlreadyExists),
        (lambda: client.drop_database(catalog, "db"), errors.InvalidOperation),
        (lambda: client.drop_catalog(catalog), errors.InvalidOperation),
        (lambda: client.drop_catalog("hive"), errors.MetaFailure),
        (lambda: client.create_catalog(s.Catalog(name="no-good", location_uri="file:/tmp/x")), errors.InvalidObject),
    ):
        with pytest.raises(kind):
            call()


def test_a_call_that_the_metastore_dies_of_is_a_typed_error_and_the_next_one_works(client):
    """Hive 3 drops the connection, Hive 4 says that it failed."""
    with pytest.raises((errors.OutcomeUnknown, errors.ServerFailure)):
        client.create_catalog(s.Catalog(name=f"c{uuid.uuid4().hex[:12]}", location_uri=""))
    assert "hive" in client.get_catalogs()


# --- connections -----------------------------------------------------------------------------------------------------


def test_the_metastore_acts_as_the_user_it_is_told(live, catalog, connect):
    client = connect(Address("127.0.0.1", live.port), user="ann", groups=("staff",))
    client.create_database(s.Database(name="anns", catalog_name=catalog))
    assert sorted(client.get_databases(catalog)) == ["anns", "db", "default"]


def test_sixteen_threads_lose_nothing_on_three_connections(client, catalog):
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda number: client.create_table(external(catalog, f"t{number}")), range(32)))
        found = list(threads.map(lambda number: client.get_table(catalog, "db", f"t{number}").table_name, range(32)))
    assert found == [f"t{number}" for number in range(32)]
    assert len(client.get_all_tables(catalog, "db")) == 32


def test_a_change_whose_answer_is_lost_is_done_once_and_said_to_be_unknown(live, catalog, connect):
    with FaultProxy("127.0.0.1", live.port, protocol="tcp") as proxy:
        client = connect(Address(proxy.host, proxy.port))
        proxy.order(faults.reset_after())
        with pytest.raises(errors.OutcomeUnknown):
            client.create_database(s.Database(name="lost", catalog_name=catalog))
        proxy.order(faults.reset_after())
        assert client.get_database(catalog, "lost").name == "lost"


def test_a_metastore_that_does_not_answer_is_unavailable_in_time(live, connect):
    with FaultProxy("127.0.0.1", live.port, protocol="tcp") as proxy:
        client = connect(Address(proxy.host, proxy.port), call_seconds=0.5)
        proxy.order(faults.stalled(forward=True))
        with pytest.raises(lance_ns.ServiceUnavailable, match="timed out"):
            client.get_catalogs()


def test_of_a_pair_with_one_member_down_the_other_serves(live, catalog, connect):
    with FaultProxy("127.0.0.1", live.port, protocol="tcp") as proxy:
        gone = Address(proxy.host, proxy.port)
    for _ in range(4):
        client = connect(gone, Address("127.0.0.1", live.port))
        assert sorted(client.get_databases(catalog)) == ["db", "default"]


def test_of_writers_that_race_again_and_again_for_a_table_one_writes_it_and_its_rows_stay(live, catalog):
    from lance_ns_conformance.together import outcomes

    properties = {**live.properties, "client.pool-size": "8"}
    with lance_ns.connect(properties.pop("backend"), properties) as ns:
        for number in range(20):
            table, winners = (catalog, "db", f"t{number}"), []

            def write(worker, table=table, winners=winners):
                ns.write(table, [{"id": worker}])
                winners.append(worker)

            assert outcomes(write) == {"ok": 1, "TableAlreadyExists": 7}
            assert ns.dataset(table).to_table()["id"].to_pylist() == winners


RACER = """
import json, sys
import lance_ns

worker, catalog, properties, made_by = json.loads(sys.argv[1])
if made_by == "metastore":
    from lance_ns_hive3 import directories

    directories.made = lambda location: None
with lance_ns.connect(properties.pop("backend"), properties) as ns:
    for table in map(str.strip, sys.stdin):
        try:
            ns.write((catalog, "db", table), [{"id": worker}])
            print("ok", flush=True)
        except lance_ns.LanceNsError as error:
            print(type(error).__name__, flush=True)
"""


@pytest.fixture(params=["us", "metastore"])
def racers(request, live, catalog):
    """Processes that write a table each time that they are told a name, and who makes the directories: see backend."""
    orders = [json.dumps((worker, catalog, live.properties, request.param)) for worker in range(4)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    started = [subprocess.Popen([sys.executable, "-c", RACER, each], **pipes) for each in orders]
    yield started
    for each in started:
        each.communicate(timeout=60)


def test_of_processes_that_race_again_and_again_for_a_table_one_writes_it_and_its_rows_stay(live, catalog, racers):
    properties = dict(live.properties)
    with lance_ns.connect(properties.pop("backend"), properties) as ns:
        for number in range(15):
            for each in racers:
                each.stdin.write(f"t{number}\n")
            said = [each.stdout.readline().strip() for each in racers]
            assert sorted(said) == ["TableAlreadyExists"] * 3 + ["ok"]
            assert ns.dataset((catalog, "db", f"t{number}")).to_table()["id"].to_pylist() == [said.index("ok")]


@pytest.fixture
def own(tmp_path):
    """A state directory of the test's own on the common cache: what is killed here disturbs nobody."""
    machine = Machine.at(cache_directory(), tmp_path / "state")
    yield machine
    lifecycle.down(machine, SERVERS.values())


@pytest.mark.live("hive3")
def test_a_metastore_that_is_killed_and_comes_back_serves_the_same_client_again(own, connect):
    hive, me = SERVERS["hive3"], Identity.current()

    def started():
        (outcome,) = lifecycle.up(own, [hive], holder=me)
        assert outcome.problem is None
        return outcome.facts.port

    client = connect(Address("127.0.0.1", started()))
    stop = threading.Event()
    seen: Counter[str] = Counter()
    failed = threading.Event()

    def work(_):
        while not stop.is_set():
            try:
                outcome = f"answered {client.get_catalogs()}"
            except lance_ns.LanceNsError as error:
                outcome = f"{type(error).__name__} {int(error.code)}"
                failed.set()
            seen[outcome] += 1
            stop.wait(0.01)

    with ThreadPoolExecutor(16) as threads:
        working = [threads.submit(work, number) for number in range(16)]
        try:
            os.kill(lifecycle.status(own, hive).pid, signal.SIGKILL)
            assert failed.wait(60)
            started()
            assert client.get_catalogs() == ["hive"]
        finally:
            stop.set()
        for each in working:
            each.result()
    assert set(seen) == {"answered ['hive']", "ServiceUnavailable 17"}


# --- locks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(live, connect):
    """A client that does not take turns with the other one, as if it were in another process."""
    return connect(Address("localhost", live.port))


def locked_by(client, catalog, agent):
    """A lock that nobody cares for any more."""
    component = s.LockComponent(
        type=s.LockType.EXCLUSIVE, level=s.LockLevel.TABLE, db_name=f"@{catalog}#db", table_name="t",
        operation_type=s.DataOperation.NO_TXN,
    )  # fmt: skip
    return client.lock(s.LockRequest(component=[component], user="killed", hostname="there", agent_info=agent))


def test_writers_that_take_the_lock_lose_no_update(client, stranger, catalog):
    client.create_table(external(catalog, "t", parameters={"count": "0"}))

    def add(each):
        for _ in range(3):
            with table_lock(each, catalog, "db", "t") as lock:
                table = each.get_table(catalog, "db", "t")
                table.parameters["count"] = str(int(table.parameters["count"]) + 1)
                lock.confirm()
                each.alter_table(catalog, "db", "t", table, KEEP_STATISTICS)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, [client, stranger] * 4))
    assert client.get_table(catalog, "db", "t").parameters["count"] == "24"


def test_a_lock_that_somebody_holds_is_waited_for_and_then_said_to_be_taken(client, stranger, catalog):
    with table_lock(client, catalog, "db", "t"):
        for other, holder in ((client, "another thread"), (stranger, "@")):
            with (
                pytest.raises(lance_ns.ConcurrentModification, match=f"is held by .*{holder}"),
                table_lock(other, catalog, "DB", "T", seconds=0.3),
            ):
                pass
        assert len(client.show_locks(f"@{catalog}#db", "t")) == 1
    for other in (client, stranger):
        with table_lock(other, catalog, "db", "t", seconds=0):
            pass


def test_a_lock_is_had_when_its_holder_gives_it_up(client, stranger, catalog):
    held, waiting = threading.Event(), threading.Event()

    def wait():
        assert held.wait(60)
        waiting.set()
        with table_lock(stranger, catalog, "db", "t"):
            return "had"

    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(wait)
        with table_lock(client, catalog, "db", "t"):
            held.set()
            assert waiting.wait(60)
        assert second.result(60) == "had"


def test_tables_of_one_name_in_two_catalogs_have_different_locks(client, stranger, catalog):
    with (
        table_lock(client, catalog, "db", "t"),
        table_lock(stranger, f"{catalog}2", "db", "t", seconds=0),
        table_lock(stranger, "hive", "db", f"t{catalog}", seconds=0),
    ):
        assert len(client.show_locks("db", f"t{catalog}")) == 1


def test_sixteen_threads_with_locks_on_different_tables_do_not_use_up_the_metastores_database(
    live, catalog, monkeypatch
):
    monkeypatch.setattr(directories, "made", lambda _: None)  # as on an object store: tables are made under the lock
    properties = {**live.properties, "client.pool-size": "16", "operation_timeout": "20"}
    with lance_ns.connect(properties.pop("backend"), properties) as ns, ThreadPoolExecutor(16) as threads:
        tables = [(catalog, "db", f"t{number}") for number in range(64)]
        list(threads.map(ns.declare_table, tables))
        assert len(list(ns.list_tables((catalog, "db")))) == 64
        list(threads.map(lambda table: ns.alter_table_properties(table, updates={"a": "b"}), tables))
        assert {ns.describe_table(table).properties["a"] for table in tables} == {"b"}


def test_a_lock_is_given_up_when_what_is_done_under_it_fails(client, catalog):
    with pytest.raises(ZeroDivisionError), table_lock(client, catalog, "db", "t"):
        raise ZeroDivisionError
    assert client.show_locks(f"@{catalog}#db", "t") == []


def test_a_lock_is_given_up_when_the_time_of_the_operation_is_over(client, catalog):
    with (
        pytest.raises(lance_ns.ServiceUnavailable, match="took too long"),
        deadline.within(60),
        table_lock(client, catalog, "db", "t") as lock,
        deadline.within(0),
    ):
        lock.confirm()
    assert client.show_locks(f"@{catalog}#db", "t") == []


def test_a_lock_whose_answer_was_lost_is_found_and_given_up(live, client, catalog, connect):
    with FaultProxy("127.0.0.1", live.port, protocol="tcp") as proxy:
        behind = connect(Address(proxy.host, proxy.port))
        proxy.order(faults.reset_after())
        with pytest.raises(errors.OutcomeUnknown), table_lock(behind, catalog, "db", "t"):
            pass
        assert [seen.forwarded for seen in proxy.seen] == [True, True, True]
    assert client.show_locks(f"@{catalog}#db", "t") == []


def test_locks_that_a_client_of_ours_left_behind_are_removed_after_a_while(client, catalog):
    left = [locked_by(client, catalog, "lance-ns 1"), locked_by(client, catalog, "lance-ns 2")]
    assert [each.state for each in left] == [s.LockState.ACQUIRED, s.LockState.WAITING]
    with (
        pytest.raises(lance_ns.ConcurrentModification, match="killed@there"),
        table_lock(client, catalog, "db", "t", seconds=0),
    ):
        pass
    with table_lock(client, catalog, "db", "t", abandoned_seconds=0):
        pass
    assert client.show_locks(f"@{catalog}#db", "t") == []


def test_locks_of_others_are_never_removed(client, catalog):
    left = locked_by(client, catalog, "somebody else")
    with (
        pytest.raises(lance_ns.ConcurrentModification, match="killed@there"),
        table_lock(client, catalog, "db", "t", seconds=0.1, abandoned_seconds=0),
    ):
        pass
    assert [each.lock_id for each in client.show_locks(f"@{catalog}#db", "t")] == [left.lock_id]
    client.unlock(left.lock_id)


def test_a_lock_that_was_taken_away_is_noticed_before_the_change(client, catalog):
    with table_lock(client, catalog, "db", "t") as lock:
        lock.confirm()
        client.unlock(lock.id)
        with pytest.raises(errors.NoSuchLock):
            lock.confirm()


@pytest.mark.parametrize("name", ["it's", "x" * 250, "a b", "ü", "'; delete from HIVE_LOCKS; --"])
def test_names_that_the_metastore_could_not_store_are_locked_too(client, stranger, catalog, name):
    with table_lock(client, catalog, name, name):
        with pytest.raises(lance_ns.ConcurrentModification), table_lock(stranger, catalog, name, name, seconds=0):
            pass
        with table_lock(stranger, catalog, name, f"{name}2", seconds=0):
            pass
