"""Names on the wire, and addresses as users and installations write them."""

import pickle
from pathlib import Path

import pytest

import lance_ns
from lance_ns.tls import Tls
from lance_ns_hive3.metastore import hivesite, uris
from lance_ns_hive3.metastore.names import qualified
from lance_ns_hive3.metastore.settings import Address, Settings


def test_a_database_is_named_with_its_catalog():
    assert qualified("c", "d") == "@c#d"
    assert qualified("c") == "@c#"
    assert qualified("c", "a#b") == "@c#a#b"  # read as database a#b, for the first # counts


@pytest.mark.parametrize(
    ("catalog", "database"), [("a#b", "d"), ("a#", None), ("", "d"), ("c", ""), ("c", "!"), ("c", "d!"), ("c", "d#")]
)
def test_a_name_that_would_be_read_as_another_is_refused(catalog: str, database: str | None):
    with pytest.raises(lance_ns.InvalidInput):
        qualified(catalog, database)


def test_uris_name_servers_each_once_in_their_order():
    assert uris.parse(" thrift://b:1 , thrift://a,THRIFT://A:9083/,thrift://[::1]:7,") == (
        Address("b", 1),
        Address("a", 9083),
        Address("::1", 7),
    )
    assert [str(each) for each in uris.parse("thrift://a,thrift://[::1]")] == ["thrift://a:9083", "thrift://[::1]:9083"]


@pytest.mark.parametrize(
    "text",
    ["", " , ", "host:9083", "host", "http://host", "thrift://", "thrift://:1", "thrift://h:x", "thrift://h:70000",
     "thrift://h:0", "thrift://h/db", "thrift://h?x=1", "thrift://[::1", "thrift://a;thrift://b"],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_the_form_is_shown(text: str):
    with pytest.raises(lance_ns.InvalidInput, match="thrift://HOST:PORT"):
        uris.parse(text)


@pytest.mark.parametrize("port", ["9083", "x"])
def test_a_password_in_an_address_is_refused_and_not_shown(port: str):
    with pytest.raises(lance_ns.InvalidInput) as caught:
        uris.parse(f"thrift://ann:canary@host:{port}")
    assert "canary" not in str(caught.value)


def test_settings_pickle():
    settings = Settings(
        addresses=(Address("a"), Address("b", 1)),
        tls=Tls(ca_bundle="x"),
        user="ann",
        groups=("g",),
        negotiate=uris.parse,
    )
    assert pickle.loads(pickle.dumps(settings)) == settings


# --- hive-site.xml --------------------------------------------------------------------------------------------------


def site(directory: Path, **values: str) -> dict[str, str]:
    """A configuration directory, as the environment names it; `__` stands for a dot."""
    properties = "".join(
        f"<property><name>{name.replace('__', '.')}</name><value> {value}\n</value></property>"
        for name, value in values.items()
    )
    (directory / "hive-site.xml").write_text(f'<?xml version="1.0"?><configuration>{properties}</configuration>')
    return {"HIVE_CONF_DIR": str(directory)}


def test_without_a_site_or_with_one_that_names_no_metastore_there_is_nothing(tmp_path: Path):
    assert hivesite.read({}) is None
    assert hivesite.read({"HIVE_CONF_DIR": str(tmp_path)}) is None
    assert hivesite.read(site(tmp_path, hive__metastore__sasl__enabled="true")) is None


def test_the_site_names_servers_and_times(tmp_path: Path):
    found = hivesite.read(
        site(
            tmp_path,
            hive__metastore__uris="thrift://a:1,thrift://b:2",
            hive__metastore__client__socket__timeout="20min",
            hive__metastore__client__connection__timeout="1500ms",
        )
    )
    assert found == hivesite.HiveSite(
        addresses=(Address("a", 1), Address("b", 2)), connect_seconds=1.5, call_seconds=1200.0
    )


def test_the_newer_names_are_read_first(tmp_path: Path):
    both = site(
        tmp_path,
        hive__metastore__uris="thrift://old",
        metastore__thrift__uris="thrift://new",
        hive__metastore__client__socket__timeout="1",
        metastore__client__socket__timeout="2",
    )
    found = hivesite.read(both)
    assert found is not None
    assert (found.addresses, found.call_seconds) == ((Address("new"),), 2.0)


def test_tls_of_the_site_trusts_its_truststore_where_that_is_a_file_of_certificates(tmp_path: Path):
    pem, java = tmp_path / "ca.pem", tmp_path / "ca.jks"
    pem.write_text("-----BEGIN CERTIFICATE-----\n")
    java.write_bytes(b"\xfe\xed\xfe\xed")
    for store, trusted in ((pem, str(pem)), (java, None), (tmp_path / "missing", None)):
        environment = site(
            tmp_path,
            metastore__thrift__uris="thrift://a",
            metastore__use__SSL="true",
            metastore__truststore__path=str(store),
        )
        assert hivesite.read(environment) == hivesite.HiveSite(addresses=(Address("a"),), tls=Tls(ca_bundle=trusted))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hive__metastore__sasl__enabled", "TRUE"),
        ("metastore__thrift__framed__transport__enabled", "true"),
        ("metastore__thrift__compact__protocol__enabled", "true"),
        ("metastore__client__thrift__transport__mode", "http"),
        ("hive__metastore__service__discovery__mode", "zookeeper"),
    ],
)
def test_what_the_client_cannot_speak_is_unsupported_and_not_tried_otherwise(tmp_path: Path, name: str, value: str):
    with pytest.raises(lance_ns.Unsupported, match=r"hive-site\.xml asks for"):
        hivesite.read(site(tmp_path, metastore__thrift__uris="thrift://a", **{name: value}))


@pytest.mark.parametrize("time", ["soon", "0", "5 parsecs", "-1", "1.5s"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, time: str):
    with pytest.raises(lance_ns.InvalidInput, match="no time"):
        hivesite.read(site(tmp_path, metastore__thrift__uris="thrift://a", metastore__client__socket__timeout=time))


def test_a_variable_in_the_site_is_refused_rather_than_taken_as_a_name(tmp_path: Path):
    with pytest.raises(lance_ns.InvalidInput, match="variable"):
        hivesite.read(site(tmp_path, metastore__thrift__uris="thrift://${host}"))


def test_a_site_that_is_no_xml_is_refused(tmp_path: Path):
    (tmp_path / "hive-site.xml").write_text("<configuration>")
    with pytest.raises(lance_ns.InvalidInput, match="cannot be read"):
        hivesite.read({"HIVE_CONF_DIR": str(tmp_path)})
