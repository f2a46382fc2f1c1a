"""The error taxonomy: one code and one exception class for each way a namespace operation can fail.

The 24 codes are those of the public Lance Namespace contract. Every error that leaves this package is one of these
classes; it knows where it happened and says what to do next:

    glue: table ml$nope not found (TableNotFound, 4)
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, ClassVar, Self


class ErrorCode(IntEnum):
    """The contract's error codes. Their numbers are the same in every implementation and language."""

    UNSUPPORTED = 0
    NAMESPACE_NOT_FOUND = 1
    NAMESPACE_ALREADY_EXISTS = 2
    NAMESPACE_NOT_EMPTY = 3
    TABLE_NOT_FOUND = 4
    TABLE_ALREADY_EXISTS = 5
    TABLE_INDEX_NOT_FOUND = 6
    TABLE_INDEX_ALREADY_EXISTS = 7
    TABLE_TAG_NOT_FOUND = 8
    TABLE_TAG_ALREADY_EXISTS = 9
    TRANSACTION_NOT_FOUND = 10
    TABLE_VERSION_NOT_FOUND = 11
    TABLE_COLUMN_NOT_FOUND = 12
    INVALID_INPUT = 13
    CONCURRENT_MODIFICATION = 14
    PERMISSION_DENIED = 15
    UNAUTHENTICATED = 16
    SERVICE_UNAVAILABLE = 17
    INTERNAL = 18
    INVALID_TABLE_STATE = 19
    TABLE_SCHEMA_VALIDATION_ERROR = 20
    THROTTLING = 21
    TABLE_BRANCH_NOT_FOUND = 22
    TABLE_BRANCH_ALREADY_EXISTS = 23

    @property
    def http_status(self) -> int:
        """The status that the contract's REST form gives to this code."""
        return _HTTP_STATUS.get(self, 404 if self.name.endswith("_NOT_FOUND") else 409)


_HTTP_STATUS = {
    ErrorCode.UNSUPPORTED: 406,
    ErrorCode.INVALID_INPUT: 400,
    ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR: 400,
    ErrorCode.PERMISSION_DENIED: 403,
    ErrorCode.UNAUTHENTICATED: 401,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
    ErrorCode.INTERNAL: 500,
    ErrorCode.THROTTLING: 429,
}


class LanceNsError(Exception):
    """The base of all errors of this package.

    Attributes:
        code: the contract's error code; fixed by the class.
        message: what happened, in one sentence, without backend or code.
        hint: what to do next.
        operation: the operation that failed, such as `describe_table`.
        identifier: the levels of the namespace or table it was about.
        backend: the name of the backend.
        retryable: whether the same call may succeed later without any change.
        retry_after: seconds that the catalog asked to wait.
        native: the catalog's own name or text for the error.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    _retryable: ClassVar[bool] = False
    _context = ("hint", "operation", "identifier", "backend", "retry_after", "native")

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        operation: str | None = None,
        identifier: tuple[str, ...] | None = None,
        backend: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        native: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.operation = operation
        self.identifier = identifier
        self.backend = backend
        self.retryable = self._retryable if retryable is None else retryable
        self.retry_after = retry_after
        self.native = native

    def __str__(self) -> str:
        where = f"{self.backend}: " if self.backend else ""
        hint = f": {self.hint}" if self.hint else ""
        return f"{where}{self.message} ({type(self).__name__}, {int(self.code)}){hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.fields())

    def fields(self) -> dict[str, Any]:
        """The keyword arguments that make this error again."""
        return {"retryable": self.retryable} | {
            name: value for name in self._context if (value := getattr(self, name)) is not None
        }

    def within(self, *, backend: str, operation: str | None, identifier: tuple[str, ...] | None) -> Self:
        """Fill in what the place that raised the error could not know. What is there already stays."""
        self.backend = self.backend or backend
        self.operation = self.operation or operation
        if self.identifier is None:
            self.identifier = identifier
        return self

    def rewritten(self, rewrite: Callable[[str], str]) -> Self:
        """Put every text of this error through `rewrite`: how a connection keeps its secrets out of errors."""
        self.message = rewrite(self.message)
        self.args = (self.message,)
        self.hint = self.hint and rewrite(self.hint)
        self.native = self.native and rewrite(self.native)
        if hasattr(self, "__notes__"):
            self.__notes__ = [rewrite(note) for note in self.__notes__]
        return self

    def to_wire(self) -> dict[str, Any]:
        """The error body of the contract's REST form. What is unknown is left out."""
        context = {
            "operation": self.operation,
            "backend": self.backend,
            "native": self.native,
            "retryable": str(self.retryable).lower(),
            "retry_after": None if self.retry_after is None else str(self.retry_after),
        }
        body = {
            "code": int(self.code),
            "error": self.message,
            "detail": self.hint,
            "instance": None if self.identifier is None else "$".join(self.identifier) or "$",
            "context": {key: value for key, value in context.items() if value is not None},
        }
        return {key: value for key, value in body.items() if value is not None}

    @staticmethod
    def from_wire(body: Any) -> "LanceNsError":
        """The error that a body of the REST form describes. A code that is not in the contract becomes Internal."""
        body = body if isinstance(body, Mapping) else {}
        found = body.get("context")
        context = found if isinstance(found, Mapping) else {}
        code, text, instance, retryable = (
            body.get("code"),
            body.get("error"),
            body.get("instance"),
            context.get("retryable"),
        )
        kind = _CLASSES.get(code, Internal) if isinstance(code, int) else Internal
        return kind(
            text if isinstance(text, str) and text else f"the server sent an error without a message: {text!r}",
            hint=_text_of(body, "detail"),
            operation=_text_of(context, "operation"),
            identifier=tuple(level for level in instance.split("$") if level) if isinstance(instance, str) else None,
            backend=_text_of(context, "backend"),
            retryable=None if retryable is None else retryable == "true",
            retry_after=_seconds(context.get("retry_after")),
            native=_text_of(context, "native"),
        )


def _text_of(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None


def _seconds(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _restore(kind: type[LanceNsError], message: str, fields: dict[str, Any]) -> LanceNsError:
    return kind(message, **fields)


class Unsupported(LanceNsError):
    """The backend, or this server, cannot do this. Nothing was sent."""

    code = ErrorCode.UNSUPPORTED


class NamespaceNotFound(LanceNsError):
    """The namespace, or the parent that the call needs, does not exist."""

    code = ErrorCode.NAMESPACE_NOT_FOUND


class NamespaceAlreadyExists(LanceNsError):
    """A namespace of this name exists, and the mode was Create."""

    code = ErrorCode.NAMESPACE_ALREADY_EXISTS


class NamespaceNotEmpty(LanceNsError):
    """The namespace still holds tables or namespaces, and nothing was removed."""

    code = ErrorCode.NAMESPACE_NOT_EMPTY


class TableNotFound(LanceNsError):
    """The table does not exist."""

    code = ErrorCode.TABLE_NOT_FOUND


class TableAlreadyExists(LanceNsError):
    """A table of this name exists."""

    code = ErrorCode.TABLE_ALREADY_EXISTS


class TableIndexNotFound(LanceNsError):
    """The table has no index of this name."""

    code = ErrorCode.TABLE_INDEX_NOT_FOUND


class TableIndexAlreadyExists(LanceNsError):
    """The table has an index of this name."""

    code = ErrorCode.TABLE_INDEX_ALREADY_EXISTS


class TableTagNotFound(LanceNsError):
    """The table has no tag of this name."""

    code = ErrorCode.TABLE_TAG_NOT_FOUND


class TableTagAlreadyExists(LanceNsError):
    """The table has a tag of this name."""

    code = ErrorCode.TABLE_TAG_ALREADY_EXISTS


class TransactionNotFound(LanceNsError):
    """The transaction is not known."""

    code = ErrorCode.TRANSACTION_NOT_FOUND


class TableVersionNotFound(LanceNsError):
    """The table has no such version."""

    code = ErrorCode.TABLE_VERSION_NOT_FOUND


class TableColumnNotFound(LanceNsError):
    """The table has no such column."""

    code = ErrorCode.TABLE_COLUMN_NOT_FOUND


class InvalidInput(LanceNsError):
    """The request cannot be right, whatever the catalog holds."""

    code = ErrorCode.INVALID_INPUT


class ConcurrentModification(LanceNsError):
    """Somebody else changed the same thing first. Read it again, then decide."""

    code = ErrorCode.CONCURRENT_MODIFICATION
    _retryable = True


class PermissionDenied(LanceNsError):
    """The catalog, or the storage, knows who asks and says no."""

    code = ErrorCode.PERMISSION_DENIED


class Unauthenticated(LanceNsError):
    """The credentials are missing, wrong or expired."""

    code = ErrorCode.UNAUTHENTICATED


class ServiceUnavailable(LanceNsError):
    """The catalog cannot be reached, or did not answer in time."""

    code = ErrorCode.SERVICE_UNAVAILABLE
    _retryable = True


class Internal(LanceNsError):
    """The catalog, or a backend, failed in a way that nobody foresaw."""

    code = ErrorCode.INTERNAL


class InvalidTableState(LanceNsError):
    """The table exists but cannot serve this: declared without data, or with data that is damaged."""

    code = ErrorCode.INVALID_TABLE_STATE


class TableSchemaValidationError(LanceNsError):
    """The data does not fit the table's schema."""

    code = ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR


class Throttling(LanceNsError):
    """The catalog asks for fewer calls."""

    code = ErrorCode.THROTTLING
    _retryable = True


class TableBranchNotFound(LanceNsError):
    """The table has no branch of this name."""

    code = ErrorCode.TABLE_BRANCH_NOT_FOUND


class TableBranchAlreadyExists(LanceNsError):
    """The table has a branch of this name."""

    code = ErrorCode.TABLE_BRANCH_ALREADY_EXISTS


_CLASSES: dict[int, type[LanceNsError]] = {kind.code: kind for kind in LanceNsError.__subclasses__()}


def error_class(code: int) -> type[LanceNsError]:
    """The exception class of a code.

    Raises:
        ValueError: the contract has no such code.
    """
    return _CLASSES[ErrorCode(code)]
