"""Namespaces and tables as the metastore has them, and the properties of a connection."""

import pytest

import lance_ns
from lance_ns import errors
from lance_ns.config import describe
from lance_ns_hive3 import mapping
from lance_ns_hive3.config import HiveConfig
from lance_ns_hive3.metastore.settings import Address
from lance_ns_hive3.metastore.structs import Database, StorageDescriptor, Table

ID = ("hive", "db", "t")


def test_the_defaults_are_those_of_the_spec():
    shown = {info.name: info.default for info in describe(HiveConfig)}
    assert shown["client.pool-size"] == "3"
    assert shown["root"] == "the database's location"


def test_a_list_of_addresses_and_the_size_of_the_pool_reach_the_client():
    config = HiveConfig(uri="thrift://a:1,thrift://b", pool_size=7)
    settings = config.settings()
    assert settings.addresses == (Address("a", 1), Address("b", 9083))
    assert settings.connections == 7


def test_without_an_address_connecting_says_what_to_do(monkeypatch):
    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)
    with pytest.raises(errors.InvalidInput, match="uri"):
        lance_ns.connect("hive3")


def test_an_address_of_hive_site_serves_without_uri_and_its_times_are_honoured(tmp_path, monkeypatch):
    entries = {"hive.metastore.uris": "thrift://there:9", "hive.metastore.client.socket.timeout": "7s"}
    properties = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>" for key, value in entries.items()
    )
    (tmp_path / "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    settings = HiveConfig().settings()
    assert settings.addresses == (Address("there", 9),)
    assert settings.call_seconds == 7


def test_a_lance_table_is_external_and_marked_whatever_it_is_given():
    table = mapping.table(ID, "/lake/t", {"EXTERNAL": "FALSE", "table_type": "delta", "owner": "ann"}, None)
    assert table.table_type == "EXTERNAL_TABLE"
    assert table.parameters["EXTERNAL"] == "TRUE"
    assert table.parameters["table_type"] == "lance"
    assert mapping.properties_of(table) == {"table_type": "lance", "owner": "ann"}


def test_changing_properties_keeps_what_the_metastore_keeps_for_itself_and_every_field():
    old = Table(
        table_name="t",
        table_type="EXTERNAL_TABLE",
        parameters={"EXTERNAL": "TRUE", "table_type": "LANCE", "transient_lastDdlTime": "5", "old": "x"},
        write_id=3,
        owner="bob",
    )
    new = mapping.with_properties(old, {"new": "y"})
    assert new.parameters == {"EXTERNAL": "TRUE", "table_type": "lance", "transient_lastDdlTime": "5", "new": "y"}
    assert (new.write_id, new.owner) == (3, "bob")
    assert old.parameters["old"] == "x", "what was read is not touched"


@pytest.mark.parametrize("value", ["true", "TRUE"])
def test_a_purge_by_others_is_refused(value):
    with pytest.raises(errors.InvalidInput, match="delete the data"):
        mapping.parameters({"external.table.purge": value})


@pytest.mark.parametrize(
    ("table_type", "mark", "expected"),
    [
        ("EXTERNAL_TABLE", "lance", True),
        ("EXTERNAL_TABLE", "LanCe", True),
        ("EXTERNAL_TABLE", "delta", False),
        ("EXTERNAL_TABLE", None, False),
        ("MANAGED_TABLE", "lance", False),
    ],
)
def test_a_lance_table_is_external_and_says_so_in_any_case(table_type, mark, expected):
    parameters = {} if mark is None else {"table_type": mark}
    assert mapping.is_lance(Table(table_type=table_type, parameters=parameters)) is expected


def test_fields_of_a_database_and_its_parameters_are_told_apart_both_ways():
    properties = {
        "database.description": "d",
        "database.location-uri": "file:/x",
        "database.owner": "ml",
        "database.owner-type": "ROLE",
        "k": "v",
    }
    database = mapping.database(("hive", "db"), properties)
    assert database.parameters == {"k": "v"}
    assert mapping.database_properties(database) == properties


def test_replacing_a_databases_properties_keeps_its_owner_unless_another_is_named():
    there = Database(
        catalog_name="hive", name="db", owner_name="ann", owner_type=1, parameters={"old": "x"}, create_time=9
    )
    kept = mapping.replaced(there, {"new": "y"})
    assert (kept.owner_name, kept.parameters, kept.create_time) == ("ann", {"new": "y"}, 9)
    assert mapping.replaced(there, {"database.owner": "bob"}).owner_name == "bob"


@pytest.mark.parametrize("name", [" db", "db ", "x" * 129])
def test_a_name_that_would_be_read_as_another_or_cannot_be_stored_is_refused(name):
    with pytest.raises(errors.InvalidInput):
        mapping.folded(("hive", name))


@pytest.mark.parametrize("key", ["k" * 181, "k"])
def test_properties_that_the_metastore_cannot_store_are_refused_before_it_tries(key):
    with pytest.raises(errors.InvalidInput):
        mapping.database(("hive", "db"), {key: "v" * 4001})


def test_hadoops_form_of_a_local_path_is_put_into_the_common_one():
    def at(location):
        return mapping.location_of(Table(sd=StorageDescriptor(location=location)))

    assert at("file:/x/y") == "file:///x/y"
    assert at("file:///x/y") == "file:///x/y"
    assert at("s3://b/x") == "s3://b/x"
    with pytest.raises(errors.Internal):
        at(None)
