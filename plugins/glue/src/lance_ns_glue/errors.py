"""Errors of Glue, of STS and of botocore itself, as ours: one table."""

from collections.abc import Mapping
from typing import Any

from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    LanceNsError,
    PermissionDenied,
    ServiceUnavailable,
    Throttling,
    Unauthenticated,
    Unsupported,
)

Kinds = Mapping[str, type[LanceNsError]]

MISSING, EXISTS = "EntityNotFoundException", "AlreadyExistsException"
LOST = "LanceNsAnswerLost"
"""Stands in an answer's metadata when an earlier attempt was sent and what became of it is not known."""

CODES: Kinds = {
    "InvalidInputException": InvalidInput,
    "ValidationException": InvalidInput,
    "ConcurrentModificationException": ConcurrentModification,
    "AccessDeniedException": PermissionDenied,
    "AccessDenied": PermissionDenied,
    "OptInRequired": PermissionDenied,
    "ExpiredTokenException": Unauthenticated,
    "ExpiredToken": Unauthenticated,
    "UnrecognizedClientException": Unauthenticated,
    "InvalidClientTokenId": Unauthenticated,
    "InvalidSignatureException": Unauthenticated,
    "SignatureDoesNotMatch": Unauthenticated,
    "IncompleteSignature": Unauthenticated,
    "IncompleteSignatureException": Unauthenticated,
    "MissingAuthenticationToken": Unauthenticated,
    "MissingAuthenticationTokenException": Unauthenticated,
    "RequestExpired": Unauthenticated,
    "OperationTimeoutException": ServiceUnavailable,
    "ResourceNotReadyException": ServiceUnavailable,
    "FederationSourceRetryableException": ServiceUnavailable,
    "ServiceUnavailable": ServiceUnavailable,
    "ServiceUnavailableException": ServiceUnavailable,
    "ThrottlingException": Throttling,
    "Throttling": Throttling,
    "ThrottledException": Throttling,
    "RequestThrottledException": Throttling,
    "RequestLimitExceeded": Throttling,
    "TooManyRequestsException": Throttling,
    "OperationNotSupportedException": Unsupported,
    "UnknownOperationException": Unsupported,
    "InternalServiceException": Internal,
    "InternalFailure": Internal,
    "ResourceNumberLimitExceededException": Internal,
    "GlueEncryptionException": Internal,
}
"""The service's names for its errors. What is missing or exists depends on the call."""

STATUSES: Mapping[int, type[LanceNsError]] = {
    401: Unauthenticated,
    403: PermissionDenied,
    429: Throttling,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}
"""What a status means where the service's name for the error is not known: of a proxy, mostly."""

FAILURES: Kinds = {
    "ParamValidationError": InvalidInput,
    "ValidationError": InvalidInput,
    "NoRegionError": InvalidInput,
    "ProfileNotFound": InvalidInput,
    "ConfigParseError": InvalidInput,
    "ConfigNotFound": InvalidInput,
    "InvalidConfigError": InvalidInput,
    "EndpointProviderError": InvalidInput,
    "InvalidProxiesConfigError": InvalidInput,
    "ValueError": InvalidInput,
    "NoCredentialsError": Unauthenticated,
    "PartialCredentialsError": Unauthenticated,
    "CredentialRetrievalError": Unauthenticated,
    "UnknownCredentialError": Unauthenticated,
    "RefreshWithMFAUnsupportedError": Unauthenticated,
    "TokenRetrievalError": Unauthenticated,
    "MetadataRetrievalError": Unauthenticated,
    "SSOError": Unauthenticated,
    "LoginError": Unauthenticated,
    "ConnectionError": ServiceUnavailable,
    "HTTPClientError": ServiceUnavailable,
    "IncompleteReadError": ServiceUnavailable,
}
"""botocore's own failures, by the name of their class or of one that it derives from."""

_HINTS: Mapping[type[LanceNsError], str] = {
    Unauthenticated: "check the credentials: properties, profile, environment or the role of this machine",
    PermissionDenied: "the manual's page on glue lists the actions that each operation needs",
    Throttling: "call less often, or raise max_retries",
    ServiceUnavailable: "check endpoint, region and network, and try again",
}
_UNSENT = ("EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError")
_EXPIRED = ("ExpiredTokenException", "ExpiredToken")


def translated(error: Exception, meaning: Kinds) -> LanceNsError:
    """The error of ours that a failed call means; `meaning` says what is particular to that call."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict) or "Error" not in response:
        return _made(_kind_of_failure(error), f"Glue could not be asked: {_in_one_line(error)}", type(error).__name__)
    code, text = _code(response), str(response["Error"].get("Message") or "no reason given")
    kind = meaning.get(code) or CODES.get(code) or STATUSES.get(_status(response), Internal)
    if code == "GlueEncryptionException" and _denied(text):
        kind = PermissionDenied
    return _made(kind, f"{getattr(error, 'operation_name', 'the call')} was refused: {text}", code)


def refusal(detail: Mapping[str, Any]) -> LanceNsError:
    """The error that an entry of a batch's answer describes."""
    code, text = str(detail.get("ErrorCode")), str(detail.get("ErrorMessage"))
    return _made(CODES.get(code, Internal), text, code)


def is_expired(error: Exception) -> bool:
    """Whether the service said that a session is over: nothing was done, and new credentials may help."""
    response = getattr(error, "response", None)
    return isinstance(response, dict) and _code(response) in _EXPIRED


def outcome_unknown(error: LanceNsError) -> bool:
    """Whether a call that failed may have been done all the same: its answer, or an earlier one, was lost."""
    cause = error.__cause__
    response = getattr(cause, "response", None)
    if isinstance(response, dict):
        lost = bool(response.get("ResponseMetadata", {}).get(LOST))
        return lost or isinstance(error, ServiceUnavailable) or _status(response) >= 500
    return isinstance(error, ServiceUnavailable)


def note_lost_answer(exception: Exception | None, parsed_response: Any, context: dict[str, Any], **_: Any) -> None:
    """After every attempt: remember one that was sent and got no answer, or none of the catalog's."""
    sent = exception is not None and type(exception).__name__ not in _UNSENT
    if sent or (parsed_response is not None and _status(parsed_response) >= 500):
        context[LOST] = True


def tell_of_lost_answer(parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    """After the last attempt: put that into the answer's metadata."""
    if context.get(LOST):
        parsed.setdefault("ResponseMetadata", {})[LOST] = True


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _made(kind: type[LanceNsError], message: str, native: str) -> LanceNsError:
    return kind(message, native=native, hint=_HINTS.get(kind))


def _kind_of_failure(error: Exception) -> type[LanceNsError]:
    return next((FAILURES[each.__name__] for each in type(error).__mro__ if each.__name__ in FAILURES), Internal)


def _code(response: Mapping[str, Any]) -> str:
    return str(response.get("Error", {}).get("Code"))


def _status(response: Mapping[str, Any]) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)


def _denied(text: str) -> bool:
    """Whether the key service refused, as its text tells: Glue has one code for all that it meets there."""
    folded = text.lower().replace(" ", "")
    return "accessdenied" in folded or "notauthorized" in folded
