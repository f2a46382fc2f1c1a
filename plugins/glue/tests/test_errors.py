"""The table of errors: what AWS documents, what botocore raises, and what a lost answer leaves open."""

import json
import socket
import threading
from pathlib import Path

import botocore.exceptions
import pytest
from botocore.exceptions import ClientError

from lance_ns import errors as ours
from lance_ns.errors import LanceNsError
from lance_ns_conformance.stand_in import Reply
from lance_ns_glue import errors

DOCUMENTED = json.loads((Path(__file__).parent / "fixtures" / "errors.json").read_text())
CALLS = {
    "CreateDatabase": lambda ns: ns.create_namespace("ml"),
    "GetDatabase": lambda ns: ns.describe_namespace("ml"),
    "GetDatabases": lambda ns: list(ns.list_namespaces()),
    "CreateTable": lambda ns: ns.declare_table("ml$docs"),
    "GetTable": lambda ns: ns.describe_table("ml$docs"),
    "GetTables": lambda ns: list(ns.list_tables("ml")),
    "UpdateTable": lambda ns: ns.alter_table_properties("ml$docs", {"a": "b"}),
    "DeleteTable": lambda ns: ns.deregister_table("ml$docs"),
}


def refused(code: str, status: int = 400, **metadata) -> ClientError:
    response = {
        "Error": {"Code": code, "Message": "no"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0, **metadata},
    }
    return ClientError(response, "GetTable")


@pytest.mark.parametrize("case", DOCUMENTED, ids=lambda case: case["about"].replace(" ", "-"))
def test_what_aws_documents_has_its_code(case, service, documented):
    def answer(operation, asked):
        if operation == case["operation"]:
            return Reply(case["status"], case["body"])
        return Reply(body=documented("table") | documented("database"))

    with pytest.raises(LanceNsError) as caught:
        CALLS[case["operation"]](service(answer).connect())
    assert caught.value.code == case["code"]
    if isinstance(case["body"], dict):
        assert caught.value.native in (None, case["body"]["__type"].rpartition("#")[2])


@pytest.mark.parametrize(("code", "kind"), errors.CODES.items())
def test_every_name_of_the_table_has_its_class(code, kind):
    found = errors.translated(refused(code), {})
    assert (type(found), found.native) == (kind, code)


def test_what_is_missing_or_there_depends_on_the_call_and_is_never_guessed():
    for code in (errors.MISSING, errors.EXISTS):
        assert type(errors.translated(refused(code), {})) is ours.Internal
        assert type(errors.translated(refused(code), {code: ours.TableNotFound})) is ours.TableNotFound


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, ours.Internal), (403, ours.PermissionDenied), (429, ours.Throttling), (503, ours.ServiceUnavailable)],
)
def test_a_name_that_is_not_in_the_table_is_read_by_its_status(status, kind):
    assert type(errors.translated(refused("Unheard", status), {})) is kind


@pytest.mark.parametrize("name", [name for name in errors.FAILURES if name != "ValueError"])
def test_every_failure_of_the_table_is_one_of_botocores_and_so_are_its_descendants(name):
    kind = getattr(botocore.exceptions, name)
    descendants = [
        each for each in vars(botocore.exceptions).values() if isinstance(each, type) and issubclass(each, kind)
    ]
    for each in descendants:
        error = each.__new__(each)
        assert type(errors.translated(error, {})) in (errors.FAILURES[name], errors.FAILURES.get(each.__name__))


def test_every_failure_of_credentials_or_connection_that_botocore_has_is_in_the_table():
    expected = {
        "NoCredentialsError": 16,
        "PartialCredentialsError": 16,
        "CredentialRetrievalError": 16,
        "UnauthorizedSSOTokenError": 16,
        "SSOTokenLoadError": 16,
        "EndpointConnectionError": 17,
        "ConnectTimeoutError": 17,
        "ReadTimeoutError": 17,
        "ConnectionClosedError": 17,
        "ProxyConnectionError": 17,
        "SSLError": 17,
        "ResponseStreamingError": 17,
        "ParamValidationError": 13,
        "NoRegionError": 13,
        "InvalidRegionError": 13,
        "ProfileNotFound": 13,
        "UnknownServiceError": 18,
    }
    for name, code in expected.items():
        kind = getattr(botocore.exceptions, name)
        assert errors.translated(kind.__new__(kind), {}).code == code, name


def test_an_error_says_what_to_do_next():
    assert "credentials" in str(errors.translated(refused("ExpiredTokenException"), {}))
    assert "manual" in str(errors.translated(refused("AccessDeniedException"), {}))


def test_nobody_at_the_endpoint_is_service_unavailable(service):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ns = service(lambda *_: Reply()).connect(endpoint=f"http://127.0.0.1:{port}")
    for call in CALLS.values():
        with pytest.raises(ours.ServiceUnavailable):
            call(ns)


def test_an_endpoint_that_says_nothing_is_service_unavailable_after_the_read_time_out(service):
    never = threading.Event()
    ns = service(lambda *_: Reply(after=never)).connect(read_timeout=1)
    with pytest.raises(ours.ServiceUnavailable, match="timeout"):
        ns.describe_table("ml$docs")
    never.set()


def test_without_credentials_a_call_is_unauthenticated_and_without_a_region_it_is_invalid(service):
    glue = service(lambda *_: Reply())
    bare = {"access_key_id": None, "secret_access_key": None}
    with pytest.raises(ours.Unauthenticated, match="credentials"):
        glue.connect(**bare).describe_namespace("ml")
    with pytest.raises(ours.InvalidInput, match="region"):
        glue.connect(region=None).describe_namespace("ml")
    with pytest.raises(ours.InvalidInput, match="nobody"):
        glue.connect(**bare, profile="nobody").describe_namespace("ml")
    assert glue.operations == []


def test_only_a_call_whose_answer_may_be_lost_leaves_its_outcome_open():
    def outcome(error: Exception) -> bool:
        try:
            raise errors.translated(error, {}) from error
        except LanceNsError as ours_:
            return errors.outcome_unknown(ours_)

    lost = {errors.LOST: True}
    assert outcome(refused("AlreadyExistsException", **lost))
    assert outcome(refused("InternalServiceException", 500))
    assert outcome(refused("OperationTimeoutException"))
    assert outcome(botocore.exceptions.ReadTimeoutError(endpoint_url="x"))
    assert not outcome(refused("AlreadyExistsException"))
    assert not outcome(refused("AlreadyExistsException", RetryAttempts=3))
    assert not outcome(refused("ThrottlingException"))
    assert not outcome(refused("AccessDeniedException"))
    assert not outcome(botocore.exceptions.NoCredentialsError())
