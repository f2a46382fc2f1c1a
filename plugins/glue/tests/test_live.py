"""A running Glue (moto with our shim) and plain botocore as the witness; data on files and on the object store."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import lance
import pyarrow as pa
import pytest
from botocore.session import Session

import lance_ns
from lance_ns import errors
from lance_ns.errors import LanceNsError

pytestmark = pytest.mark.live("glue")

OTHER = "210987654321"


@pytest.fixture
def properties(live_server) -> dict[str, Any]:
    given = live_server("glue").properties
    del given["backend"]
    return given


@pytest.fixture
def ns(properties) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("glue", properties) as connection:
        yield connection


@pytest.fixture
def space(ns) -> Iterator[str]:
    name = f"w{uuid4().hex[:8]}"
    ns.create_namespace(name)
    yield name
    ns.drop_namespace(name, behavior="cascade")


def client(service: str, properties: dict[str, Any]) -> Any:
    return Session().create_client(
        service,
        region_name=properties["region"],
        endpoint_url=properties["endpoint"],
        aws_access_key_id=properties["access_key_id"],
        aws_secret_access_key=properties["secret_access_key"],
    )


@pytest.fixture
def witness(properties) -> Any:
    return client("glue", properties)


# --- another client ----------------------------------------------------------------------------------------------


def test_another_client_sees_our_namespaces_and_tables_and_no_longer_after_deregistering(ns, space, witness):
    ns.declare_table(f"{space}$t", properties={"owner": "ann"})
    assert witness.get_database(Name=space)["Database"]["Name"] == space
    (seen,) = witness.get_tables(DatabaseName=space)["TableList"]
    assert (seen["Name"], seen["TableType"]) == ("t", "EXTERNAL_TABLE")
    assert seen["Parameters"] == {"owner": "ann", "table_type": "lance"}
    assert seen["StorageDescriptor"]["Location"] == ns.describe_table(f"{space}$t").location
    ns.deregister_table(f"{space}$t")
    assert witness.get_tables(DatabaseName=space)["TableList"] == []


def test_tables_of_another_client_are_not_listed_and_never_touched(ns, space, witness):
    theirs = {"Name": "theirs", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": {"Location": "s3://x/y"}}
    witness.create_table(DatabaseName=space, TableInput=theirs)
    ns.declare_table(f"{space}$ours")
    assert list(ns.list_tables(space)) == ["ours"]
    assert not ns.table_exists(f"{space}$theirs")
    for refused in (
        lambda: ns.describe_table(f"{space}$theirs"),
        lambda: ns.deregister_table(f"{space}$theirs"),
        lambda: ns.alter_table_properties(f"{space}$theirs", {"a": "b"}),
        lambda: ns.register_table(f"{space}$theirs", "s3://mine", mode="overwrite"),
    ):
        with pytest.raises(errors.InvalidInput):
            refused()
    with pytest.raises(errors.TableAlreadyExists):
        ns.declare_table(f"{space}$theirs")
    with pytest.raises(errors.NamespaceNotEmpty):
        ns.drop_namespace(space)
    assert witness.get_table(DatabaseName=space, Name="theirs")["Table"]["VersionId"] == "0"


def test_a_table_that_another_client_marks_as_lance_is_ours_from_then_on(ns, space, witness, tmp_path):
    entry = {"Name": "t", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": {"Location": str(tmp_path / "t")}}
    witness.create_table(DatabaseName=space, TableInput=entry)
    assert list(ns.list_tables(space)) == []
    witness.update_table(DatabaseName=space, TableInput={**entry, "Parameters": {"table_type": "Lance"}})
    assert list(ns.list_tables(space)) == ["t"]
    ns.write(f"{space}$t", [{"v": 1}])
    assert lance.dataset(str(tmp_path / "t")).count_rows() == 1


def test_our_updates_keep_what_another_client_wrote_and_pile_up_no_versions(ns, space, witness):
    table = f"{space}$t"
    ns.declare_table(table)
    found = witness.get_table(DatabaseName=space, Name="t")["Table"]
    entry = {key: found[key] for key in ("Name", "TableType", "Parameters", "StorageDescriptor")}
    columns = [{"Name": "v", "Type": "bigint", "Comment": "theirs"}]
    described = {**entry["StorageDescriptor"], "Columns": columns}
    witness.update_table(
        DatabaseName=space,
        TableInput={**entry, "Description": "theirs", "Owner": "bob", "StorageDescriptor": described},
        SkipArchive=True,
    )
    for number in range(5):
        ns.alter_table_properties(table, {f"k{number}": "v"})
    ns.register_table(table, "s3://elsewhere", mode="overwrite", properties={"a": "b"})
    seen = witness.get_table(DatabaseName=space, Name="t")["Table"]
    assert (seen["Description"], seen["Owner"], seen["StorageDescriptor"]["Columns"]) == ("theirs", "bob", columns)
    assert seen["StorageDescriptor"]["Location"] == "s3://elsewhere"
    assert seen["Parameters"] == {"a": "b", "table_type": "lance"}
    assert len(witness.get_table_versions(DatabaseName=space, TableName="t")["TableVersions"]) == 1


def test_a_cascade_leaves_no_entry_of_any_format_and_all_data(ns, space, witness, tmp_path):
    for number in range(130):
        entry = {"Name": f"view{number:03}", "TableType": "VIRTUAL_VIEW"}
        witness.create_table(DatabaseName=space, TableInput=entry)
    ns.write(f"{space}$t", [{"v": 1}], location=str(tmp_path / "t"))
    ns.drop_namespace(space, behavior="cascade")
    with pytest.raises(witness.exceptions.EntityNotFoundException):
        witness.get_database(Name=space)
    assert lance.dataset(str(tmp_path / "t")).count_rows() == 1
    ns.create_namespace(space)
    assert witness.get_tables(DatabaseName=space)["TableList"] == []


# --- pages, catalogs ---------------------------------------------------------------------------------------------


def test_ragged_pages_are_followed_to_their_end_at_every_size(ns, space, witness):
    for number in range(120):
        ns.declare_table(f"{space}$t{number:03}")
        if number % 2:
            entry = {"Name": f"view{number:03}", "TableType": "VIRTUAL_VIEW"}
            witness.create_table(DatabaseName=space, TableInput=entry)
    expected = [f"t{number:03}" for number in range(120)]
    assert list(ns.list_tables(space)) == expected
    for limit in (1, 7, 99, 100, 119, 120, 500):
        names: list[str] = []
        page = ns.list_tables_page(space, limit=limit)
        while True:
            assert len(page.tables) <= limit
            names += page.tables
            if page.page_token is None:
                break
            page = ns.list_tables_page(space, limit=limit, page_token=page.page_token)
        assert names == expected, limit


def test_more_databases_than_a_page_holds_are_all_listed(ns):
    mark = uuid4().hex[:8]
    made = [f"d{number:03}{mark}" for number in range(105)]
    for name in made:
        ns.create_namespace(name)
    assert [name for name in ns.list_namespaces() if name.endswith(mark)] == made
    for name in made:
        ns.drop_namespace(name)


def test_another_catalog_is_another_world_and_an_unknown_one_is_an_error(ns, space, properties):
    from servers.shim.control import GlueControl

    GlueControl(properties["endpoint"]).make_catalog(OTHER)
    ns.declare_table(f"{space}$t")
    with lance_ns.connect("glue", properties, catalog_id=OTHER) as other:
        assert not other.namespace_exists(space)
        other.create_namespace(space)
        assert list(other.list_tables(space)) == []
        other.declare_table(f"{space}$u")
        assert list(ns.list_tables(space)) == ["t"]
        other.drop_namespace(space, behavior="cascade")
    assert ns.table_exists(f"{space}$t")
    nowhere = lance_ns.connect("glue", properties, catalog_id="999999999999")
    with nowhere, pytest.raises(errors.NamespaceNotFound, match="999999999999"):
        list(nowhere.list_namespaces())


# --- versions ----------------------------------------------------------------------------------------------------


def update_until_done(ns: lance_ns.Namespace, table: str, updates: dict[str, str]) -> None:
    """What a user does: try again after ConcurrentModification, and after an error that says it may pass."""
    while True:
        try:
            ns.alter_table_properties(table, updates)
        except LanceNsError as error:
            if error.retryable:
                continue
            raise
        return


def counted(ns: lance_ns.Namespace, table: str) -> list[str]:
    return sorted(key for key in ns.describe_table(table).properties if key.startswith("k"))


def test_sixteen_threads_with_fifty_updates_each_have_exactly_eight_hundred_effects(ns, space, witness):
    table = f"{space}$t"
    ns.declare_table(table)

    def work(thread: int) -> None:
        for number in range(50):
            ns.alter_table_properties(table, {f"k{thread:02}.{number:02}": "v"})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert counted(ns, table) == [f"k{thread:02}.{number:02}" for thread in range(16) for number in range(50)]
    assert witness.get_table(DatabaseName=space, Name="t")["Table"]["VersionId"] == "800"


def test_connections_that_know_nothing_of_each_other_lose_no_update(properties, ns, space, witness):
    table = f"{space}$t"
    ns.declare_table(table)

    def work(writer: int) -> None:
        with lance_ns.connect("glue", properties) as own:
            for number in range(25):
                update_until_done(own, table, {f"k{writer}.{number:02}": "v"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert counted(ns, table) == [f"k{writer}.{number:02}" for writer in range(4) for number in range(25)]
    assert witness.get_table(DatabaseName=space, Name="t")["Table"]["VersionId"] == "100"


def overtaken(ns: lance_ns.Namespace, witness: Any, space: str, times: int) -> list[str]:
    """Let the witness change a table just before each of our first updates reaches the service."""
    seen: list[str] = []

    def intrude(**_: Any) -> None:
        if len(seen) < times:
            found = witness.get_table(DatabaseName=space, Name="t")["Table"]
            entry = {key: found[key] for key in ("Name", "TableType", "Parameters", "StorageDescriptor")}
            entry["Parameters"] = {**entry["Parameters"], f"theirs{len(seen)}": "1"}
            witness.update_table(DatabaseName=space, TableInput=entry, VersionId=found["VersionId"])
            seen.append(found["VersionId"])

    ns._implementation._glue._connected().glue.meta.events.register("before-call.glue.UpdateTable", intrude)
    return seen


def test_of_two_writers_the_second_sees_what_the_first_wrote_and_both_are_kept(ns, space, witness):
    ns.declare_table(f"{space}$t")
    seen = overtaken(ns, witness, space, times=2)
    ns.alter_table_properties(f"{space}$t", {"ours": "1"})
    assert seen == ["0", "1"]
    found = witness.get_table(DatabaseName=space, Name="t")["Table"]
    assert found["Parameters"] == {"table_type": "lance", "theirs0": "1", "theirs1": "1", "ours": "1"}
    assert found["VersionId"] == "3"


def test_a_writer_that_is_always_overtaken_gives_up_with_concurrent_modification_and_changes_nothing(
    ns, space, witness
):
    ns.declare_table(f"{space}$t")
    seen = overtaken(ns, witness, space, times=1000)
    for change in (
        lambda: ns.alter_table_properties(f"{space}$t", {"ours": "1"}),
        lambda: ns.register_table(f"{space}$t", "s3://mine", mode="overwrite"),
    ):
        with pytest.raises(errors.ConcurrentModification) as caught:
            change()
        assert caught.value.retryable
    found = witness.get_table(DatabaseName=space, Name="t")["Table"]
    assert set(found["Parameters"]) == {"table_type", *(f"theirs{number}" for number in range(len(seen)))}


# --- a service of our own, to be put into trouble ------------------------------------------------------------------


@pytest.fixture(scope="module")
def shim() -> Iterator[str]:
    """The same service in this process: faults that are ordered there meet no other test."""
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    from servers.shim.app import Shim

    application = Shim()
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    application.close()


@pytest.fixture
def control(shim) -> Iterator[Any]:
    from servers.shim.control import GlueControl

    made = GlueControl(shim)
    made.clear()
    yield made
    made.clear()
    made.session_seconds(None)


@pytest.fixture
def own(shim, control, tmp_path) -> dict[str, Any]:
    """How that service is reached."""
    return {
        "endpoint": shim,
        "region": "us-east-1",
        "access_key_id": "AKOWN",
        "secret_access_key": "own",
        "root": str(tmp_path / "lake"),
    }


@pytest.fixture
def quiet(own) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("glue", own) as connection:
        yield connection


@pytest.fixture
def place(quiet) -> str:
    name = f"w{uuid4().hex[:8]}"
    quiet.create_namespace(name)
    return name


def trouble(control: Any, *operations: str, times: int = 8) -> None:
    """Faults of every kind for the next calls, among calls that pass."""
    for _ in range(times):
        for operation in operations:
            for kind in ("throttling", "drop-before", "drop-after", "internal"):
                control.fault(kind, operation)
                control.fault("delay", operation, times=3)


def test_updates_among_throttling_and_dropped_connections_are_neither_lost_nor_doubled(control, quiet, place, own):
    table = f"{place}$t"
    quiet.declare_table(table)
    trouble(control, "UpdateTable", "GetTable", times=4)

    def work(thread: int) -> None:
        for number in range(10):
            update_until_done(quiet, table, {f"k{thread}.{number}": "v"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    control.clear()
    assert counted(quiet, table) == sorted(f"k{thread}.{number}" for thread in range(8) for number in range(10))
    assert client("glue", own).get_table(DatabaseName=place, Name="t")["Table"]["VersionId"] == "80"


def test_tables_declared_among_throttling_and_dropped_connections_are_each_there_once(control, quiet, place):
    trouble(control, "CreateTable", times=4)

    def declare(number: int) -> str:
        return str(quiet.declare_table(f"{place}$t{number:02}").location)

    with ThreadPoolExecutor(8) as pool:
        locations = list(pool.map(declare, range(64)))
    control.clear()
    assert len(set(locations)) == 64
    assert list(quiet.list_tables(place)) == [f"t{number:02}" for number in range(64)]


@pytest.mark.parametrize("kind", ["throttling", "drop-before", "drop-after", "internal"])
def test_of_many_that_declare_one_table_exactly_one_is_told_that_it_did_whatever_gets_lost(kind, control, quiet, place):
    for number in range(4):
        table = f"{place}$t{number}"
        control.fault(kind, "CreateTable", times=6)
        outcomes: list[str] = []
        start = threading.Barrier(8)

        def declare(_: int, table: str = table, outcomes: list[str] = outcomes, start: Any = start) -> None:
            start.wait()
            try:
                quiet.declare_table(table)
            except errors.TableAlreadyExists:
                outcomes.append("taken")
            else:
                outcomes.append("made")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(declare, range(8)))
        control.clear()
        assert sorted(outcomes) == ["made", *["taken"] * 7]


@pytest.mark.parametrize("kind", ["drop-before", "drop-after", "internal", "throttling"])
def test_every_change_survives_a_fault_of_every_kind(kind, control, quiet, own):
    changes: list[tuple[str, Callable[[], Any], Callable[[], bool]]] = [
        (
            "CreateDatabase",
            lambda: quiet.create_namespace("f", properties={"a": "b"}),
            lambda: quiet.namespace_exists("f"),
        ),
        ("CreateTable", lambda: quiet.declare_table("f$t"), lambda: quiet.table_exists("f$t")),
        (
            "UpdateTable",
            lambda: quiet.alter_table_properties("f$t", {"a": "b"}),
            lambda: quiet.describe_table("f$t").properties["a"] == "b",
        ),
        ("DeleteTable", lambda: quiet.deregister_table("f$t"), lambda: not quiet.table_exists("f$t")),
        ("DeleteDatabase", lambda: quiet.drop_namespace("f"), lambda: not quiet.namespace_exists("f")),
    ]
    for operation, change, is_done in changes:
        control.fault(kind, operation)
        change()
        assert is_done(), f"{operation} with {kind}"


def test_a_truncated_answer_is_never_an_empty_one(control, quiet, place):
    quiet.declare_table(f"{place}$t")
    for operation, call in (
        ("GetTables", lambda: list(quiet.list_tables(place))),
        ("GetTable", lambda: quiet.describe_table(f"{place}$t")),
        ("GetDatabase", lambda: quiet.describe_namespace(place)),
        ("GetDatabases", lambda: list(quiet.list_namespaces())),
        ("GetTables", lambda: quiet.drop_namespace(place)),
    ):
        control.fault("truncated", operation)
        with pytest.raises(errors.Internal):
            call()
    assert list(quiet.list_tables(place)) == ["t"]


def test_a_listing_that_fails_in_the_middle_says_so(control, quiet, place):
    for number in range(3):
        quiet.declare_table(f"{place}$t{number}")
    first = quiet.list_tables_page(place, limit=2)
    control.fault("timeout", "GetTables")
    with pytest.raises(errors.ServiceUnavailable):
        quiet.list_tables_page(place, limit=2, page_token=first.page_token)
    assert quiet.list_tables_page(place, limit=2, page_token=first.page_token).tables


# --- sessions and roles ------------------------------------------------------------------------------------------


def test_a_session_works_until_it_expires_and_is_then_unauthenticated(control, own, place):
    issued = client("sts", own).get_session_token()["Credentials"]
    given = {
        **own,
        "access_key_id": issued["AccessKeyId"],
        "secret_access_key": issued["SecretAccessKey"],
        "session_token": issued["SessionToken"],
    }
    with lance_ns.connect("glue", given) as session:
        assert session.namespace_exists(place)
        control.expire_sessions()
        with pytest.raises(errors.Unauthenticated):
            session.describe_namespace(place)
    junk = lance_ns.connect("glue", {**given, "session_token": "never issued"})
    with junk, pytest.raises(errors.Unauthenticated):
        list(junk.list_namespaces())


def test_a_role_lands_in_its_own_account_and_is_assumed_again_when_its_session_ends(control, own, place, quiet):
    role = {"role_arn": f"arn:aws:iam::{OTHER}:role/lake", "external_id": "told-us", "sts_endpoint": own["endpoint"]}
    with lance_ns.connect("glue", own, **role) as other:
        assert not other.namespace_exists(place)
        other.create_namespace("theirs", mode="exist_ok")
        assert not quiet.namespace_exists("theirs")
        for _ in range(2):
            control.expire_sessions()
            assert other.namespace_exists("theirs")
        control.expire_sessions()
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda _: other.namespace_exists("theirs"), range(32)))


# --- data --------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_the_store(properties, live_server) -> dict[str, Any]:
    """The same catalog, with tables on the object store."""
    store = live_server("s3").properties
    options = {name: value for name, value in store.items() if name.startswith("storage.")}
    return {**properties, **options, "root": store["root"].replace("/dir", "/glue")}


@pytest.mark.live("s3")
@pytest.mark.parametrize("where", ["properties", "on_the_store"])
def test_data_goes_and_comes_through_pylance_wherever_it_lies(where, request):
    given = request.getfixturevalue(where)
    name = f"w{uuid4().hex[:8]}"
    with lance_ns.connect("glue", given) as ns:
        ns.create_namespace(name)
        rows = pa.table({"id": [1, 2, 3], "vector": pa.array([[0.1, 0.2]] * 3, pa.list_(pa.float32(), 2))})
        ns.write(f"{name}$docs", rows)
        ns.write(f"{name}$docs", rows, mode="append")
        described = ns.describe_table(f"{name}$docs", load_detailed_metadata=True)
        assert str(described.location).startswith(given["root"])
        assert described.version == 2
        assert ns.dataset(f"{name}$docs").count_rows() == 6
        bridge = ns.as_lance()
        assert lance.dataset(namespace_client=bridge, table_id=[name, "docs"]).count_rows() == 6
        lance.write_dataset(rows, namespace_client=bridge, table_id=[name, "more"], mode="create")
        assert sorted(ns.list_tables(name)) == ["docs", "more"]
        location, options = described.location, dict(described.storage_options or {})
        ns.drop_namespace(name, behavior="cascade")
        assert lance.dataset(str(location), storage_options=options).count_rows() == 6


@pytest.mark.live("s3")
def test_tables_on_the_object_store_open_with_the_connections_own_credentials_when_that_is_asked_for(on_the_store):
    keys = {"storage.aws_access_key_id", "storage.aws_secret_access_key"}
    given = {name: value for name, value in on_the_store.items() if name not in keys}
    assert len(given) == len(on_the_store) - 2
    name = f"w{uuid4().hex[:8]}"
    with lance_ns.connect("glue", given, storage_credentials=True) as ns:
        ns.create_namespace(name)
        ns.write(f"{name}$docs", [{"v": 1}])
        assert ns.dataset(f"{name}$docs").count_rows() == 1
        ns.drop_namespace(name, behavior="cascade")


def test_a_forked_worker_uses_the_connection_of_its_parent(ns, space):
    ns.declare_table(f"{space}$t")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ns.declare_table(f"{space}$from_the_child")
            code = 0 if ns.table_exists(f"{space}$t") else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(ns.list_tables(space)) == ["from_the_child", "t"]
