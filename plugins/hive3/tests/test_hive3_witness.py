"""Another client of the metastore, of generated code, sees what we declare, and its DROP leaves the data."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import lance
import pytest

import lance_ns
from lance_ns import errors

hive_metastore = pytest.importorskip(
    "hive_metastore.ThriftHiveMetastore", reason="pyiceberg brings the generated client that is the witness"
)
from hive_metastore.ttypes import (  # noqa: E402
    EnvironmentContext,
    FieldSchema,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: E402
from thrift.transport.TSocket import TSocket  # noqa: E402
from thrift.transport.TTransport import TBufferedTransport  # noqa: E402

pytestmark = pytest.mark.live("hive3")


@pytest.fixture
def properties(live_server) -> dict[str, Any]:
    given = live_server("hive3").properties
    del given["backend"]
    return given


@pytest.fixture
def ns(properties) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("hive3", properties) as connection:
        yield connection


@pytest.fixture
def space(ns) -> Iterator[tuple[str, ...]]:
    id = ("hive", f"w{uuid4().hex[:8]}")
    ns.create_namespace(id)
    yield id
    ns.drop_namespace(id, behavior="cascade", mode="skip")


@pytest.fixture
def witness(live_server) -> Iterator[Any]:
    transport = TBufferedTransport(TSocket("127.0.0.1", live_server("hive3").port))
    transport.open()
    yield hive_metastore.Client(TBinaryProtocol(transport))
    transport.close()


def test_another_client_sees_our_tables_as_external_and_marked(ns, space, witness):
    ns.declare_table((*space, "t"), properties={"owner": "ann"})
    seen = witness.get_table(space[1], "t")
    assert seen.tableType == "EXTERNAL_TABLE"
    assert (seen.parameters["table_type"], seen.parameters["owner"]) == ("lance", "ann")
    assert witness.get_all_tables(space[1]) == ["t"]


def test_a_drop_with_data_by_another_client_leaves_the_lance_data(ns, space, witness):
    id = (*space, "t")
    ns.write(id, [{"v": 1}])
    ns.alter_table_properties(id, updates={"step": "2"})
    location = str(ns.describe_table(id).location)
    witness.drop_table(space[1], "t", True)  # deleteData, which we never say
    with pytest.raises(errors.TableNotFound):
        ns.describe_table(id)
    assert lance.dataset(location).count_rows() == 1


def test_tables_of_another_client_are_not_listed_and_never_touched(ns, space, witness):
    storage = StorageDescriptor(
        cols=[FieldSchema(name="v", type="bigint")],
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}),
        parameters={},
    )
    theirs = Table(
        tableName="theirs",
        dbName=space[1],
        sd=storage,
        partitionKeys=[],
        parameters={"table_type": "lance"},
        tableType="MANAGED_TABLE",
    )
    witness.create_table_with_environment_context(theirs, EnvironmentContext(properties={}))
    ns.declare_table((*space, "ours"))
    assert list(ns.list_tables(space)) == ["ours"]
    for call in (ns.describe_table, ns.deregister_table):
        with pytest.raises(errors.InvalidInput):
            call((*space, "theirs"))
    with pytest.raises(errors.TableAlreadyExists):
        ns.declare_table((*space, "theirs"))
    assert witness.get_table(space[1], "theirs").tableType == "MANAGED_TABLE"


def test_sixteen_threads_alter_one_table_on_one_connection_object_and_none_is_lost(ns, space):
    id = (*space, "t")
    ns.declare_table(id)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: ns.alter_table_properties(id, updates={f"k{number}": "v"}), range(32)))
    assert {f"k{number}" for number in range(32)} <= set(ns.describe_table(id).properties)
