"""Properties: their defaults, which of them go together, and that no SDK is needed to read them."""

import pickle
import subprocess
import sys

import pytest

import lance_ns
from lance_ns.config import Properties, read
from lance_ns.errors import InvalidInput
from lance_ns_glue.config import GlueConfig

SECRET = "wJalr/very+secret"


def config(**given):
    return read(GlueConfig, Properties(given), backend="glue")


def test_everything_is_optional_and_nothing_is_passed_on_to_storage_unasked():
    found = config()
    assert found.root is None
    assert not found.storage_credentials
    assert (found.connect_timeout, found.read_timeout, found.max_retries, found.max_connections) == (10, 30, 3, 16)
    assert found.role_session_name == "lance-ns"


def test_a_local_root_is_made_absolute_and_a_uri_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config(root="lake").root == str(tmp_path / "lake")
    assert config(root="s3://lake").root == "s3://lake"


@pytest.mark.parametrize(
    "given",
    [
        {"access_key_id": "AK"},
        {"secret_access_key": SECRET},
        {"session_token": SECRET},
        {"profile": "p", "access_key_id": "AK", "secret_access_key": SECRET},
        {"external_id": "x1"},
        {"sts_endpoint": "http://localhost"},
        {"endpoint": "localhost:5000"},
        {"endpoint": "ftp://localhost"},
        {"endpoint": "https://"},
        {"role_arn": "arn:aws:iam::111122223333:role/r", "sts_endpoint": "localhost"},
        {"read_timeout": 0},
        {"max_connections": 0},
        {"max_retries": -1},
        {"regio": "eu-west-1"},
    ],
    ids="-".join,
)
def test_properties_that_cannot_be_right_are_refused_when_connecting_and_show_no_secret(given):
    with pytest.raises(InvalidInput) as caught:
        lance_ns.connect("glue", given)
    assert SECRET not in str(caught.value)


def test_a_connection_shows_no_secret_and_takes_them_along_when_it_is_pickled(service):
    from lance_ns_conformance.stand_in import Reply

    glue = service(lambda operation, asked: Reply(body={"DatabaseList": [{"Name": "ml"}]}))
    ns = glue.connect(secret_access_key=SECRET, session_token=SECRET)
    assert SECRET not in repr(ns)
    with pickle.loads(pickle.dumps(ns)) as again:
        assert list(again.list_namespaces()) == ["ml"]
    assert glue.requests[0].headers["X-Amz-Security-Token"] == SECRET


def test_neither_finding_the_backend_nor_connecting_imports_botocore():
    script = (
        "import sys, lance_ns; ns = lance_ns.connect('glue', region='eu-west-1'); "
        "ns.capabilities; ns.close(); assert not [name for name in sys.modules if name.startswith('boto')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
