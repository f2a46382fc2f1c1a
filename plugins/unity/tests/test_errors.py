"""The errors of every dialect that Unity's servers speak, one table for all of them."""

import pytest

from lance_ns import errors
from lance_ns_unity.dialect import DIALECT, NAMESPACE, NEW_NAMESPACE, NEW_TABLE, OLD_NAMESPACE, TABLE


def official(code: str, message: str = "words of the server") -> dict[str, object]:
    return {"error_code": code, "details": [{"reason": code, "@type": "google.rpc.ErrorInfo"}], "message": message}


def older(code: str) -> dict[str, object]:
    return {**official(code), "stack_trace": "[a.b.C.d(C.java:1), secret inside of the server]"}


def independent(code: str) -> dict[str, object]:
    return {"errorCode": code, "message": "words of the server"}


CASES = {
    # what was asked: (meaning, [(status, body), …], class)
    "a schema that is missing": (
        NAMESPACE,
        [
            (404, older("NOT_FOUND")),
            (404, official("SCHEMA_NOT_FOUND")),
            (404, official("CATALOG_NOT_FOUND")),
            (404, independent("RESOURCE_NOT_FOUND")),
            (404, official("SCHEMA_DOES_NOT_EXIST")),
            (404, official("RESOURCE_DOES_NOT_EXIST")),
        ],
        errors.NamespaceNotFound,
    ),
    "a schema that is there already": (
        NEW_NAMESPACE,
        [
            (409, older("ALREADY_EXISTS")),
            (400, older("SCHEMA_ALREADY_EXISTS")),
            (400, official("RESOURCE_ALREADY_EXISTS")),
            (409, independent("RESOURCE_ALREADY_EXISTS")),
        ],
        errors.NamespaceAlreadyExists,
    ),
    "a new schema in a catalog that is missing": (
        NEW_NAMESPACE,
        [(404, older("NOT_FOUND")), (404, official("CATALOG_NOT_FOUND"))],
        errors.NamespaceNotFound,
    ),
    "a schema that is not empty": (OLD_NAMESPACE, [(400, older("FAILED_PRECONDITION"))], errors.NamespaceNotEmpty),
    "a table that is missing, or its schema, or its catalog": (
        TABLE,
        [
            (404, older("NOT_FOUND")),
            (404, official("TABLE_NOT_FOUND")),
            (404, official("SCHEMA_NOT_FOUND")),
            (404, official("CATALOG_NOT_FOUND")),
            (404, independent("RESOURCE_NOT_FOUND")),
            (404, official("TABLE_DOES_NOT_EXIST")),
        ],
        errors.TableNotFound,
    ),
    "a new table that is there already": (
        NEW_TABLE,
        [
            (409, older("ALREADY_EXISTS")),
            (400, older("TABLE_ALREADY_EXISTS")),
            (409, independent("RESOURCE_ALREADY_EXISTS")),
        ],
        errors.TableAlreadyExists,
    ),
    "a new table in a schema that is missing": (
        NEW_TABLE,
        [(404, older("NOT_FOUND")), (404, official("SCHEMA_NOT_FOUND")), (404, official("CATALOG_NOT_FOUND"))],
        errors.NamespaceNotFound,
    ),
    "a name or location that the server does not take": (
        NEW_TABLE,
        [(400, older("INVALID_ARGUMENT")), (400, independent("INVALID_PARAMETER_VALUE"))],
        errors.InvalidInput,
    ),
    "no token, or a wrong one": (
        TABLE,
        [(401, official("UNAUTHENTICATED")), (401, None), (401, independent("UNAUTHENTICATED"))],
        errors.Unauthenticated,
    ),
    "no privilege": (TABLE, [(403, official("PERMISSION_DENIED")), (403, None)], errors.PermissionDenied),
    "too many calls": (
        TABLE,
        [(429, official("RESOURCE_EXHAUSTED")), (429, independent("REQUEST_LIMIT_EXCEEDED")), (429, None)],
        errors.Throttling,
    ),
    "a server that is away": (
        TABLE,
        [(503, official("UNAVAILABLE")), (503, independent("TEMPORARILY_UNAVAILABLE")), (502, None)],
        errors.ServiceUnavailable,
    ),
    "what the server does not have": (TABLE, [(501, official("UNIMPLEMENTED")), (501, None)], errors.Unsupported),
    "somebody else was faster": (
        NEW_NAMESPACE,
        [(409, official("ABORTED")), (409, independent("RESOURCE_CONFLICT"))],
        errors.ConcurrentModification,
    ),
    "the server failed": (
        NEW_TABLE,
        [(500, older("INTERNAL")), (500, independent("INTERNAL_ERROR")), (418, {}), (400, official("NEVER_SEEN"))],
        errors.Internal,
    ),
}


@pytest.mark.parametrize(
    ("status", "body", "meaning", "kind"),
    [
        pytest.param(status, body, meaning, kind, id=f"{case}, {status} {next(iter((body or {}).values()), '')}")
        for case, (meaning, answers, kind) in CASES.items()
        for status, body in answers
    ],
)
def test_an_answer_becomes_the_error_that_it_means(status, body, meaning, kind):
    error = DIALECT.error(status, body, "", meaning)
    assert type(error) is kind
    assert error.native.startswith(f"HTTP {status}")
    assert "stack" not in str(error)
    assert "inside of the server" not in str(error)


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("meaning", [NAMESPACE, NEW_NAMESPACE, OLD_NAMESPACE, TABLE, NEW_TABLE])
def test_a_route_that_the_server_does_not_have_is_never_a_missing_thing(status, meaning):
    error = DIALECT.error(status, None, f"Status: {status}\nDescription: Not Found\n", meaning)
    assert type(error) is errors.Internal
    assert "api_path" in error.hint


@pytest.mark.parametrize(
    "message",
    [
        'Error creating table: c.s.t: could not execute statement [Value too long for column "PROPERTY_VALUE …',
        "Error: Data too long for column 'property_value' at row 1",
        "ERROR: value too long for type character varying(255)",
    ],
)
def test_a_value_that_is_too_long_for_the_database_below_is_input_that_cannot_be(message):
    assert type(DIALECT.error(500, official("INTERNAL", message), "", NEW_TABLE)) is errors.InvalidInput
