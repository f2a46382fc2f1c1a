"""What can go wrong between us and a metastore, as typed errors.

What the metastore itself says is a `MetastoreError`: one class for each exception of its interface, Internal (18) until
the backend gives it a meaning, for the same exception means different things in different calls. What happens on the
way there is a ServiceUnavailable (17).
"""

from collections.abc import Sequence
from typing import TypeVar

from lance_ns.errors import Internal, LanceNsError, ServiceUnavailable, Unsupported
from lance_ns_hive3.metastore.settings import Address

E = TypeVar("E", bound=LanceNsError)

_LONGEST = 400


class MetastoreError(Internal):
    """The metastore got the call and answered with an exception, or with something that is no answer."""


class NoSuchObject(MetastoreError):
    """`NoSuchObjectException`."""


class AlreadyExists(MetastoreError):
    """`AlreadyExistsException`."""


class InvalidObject(MetastoreError):
    """`InvalidObjectException`: a bad name, or a parent that does not exist."""


class InvalidOperation(MetastoreError):
    """`InvalidOperationException`."""


class MetaFailure(MetastoreError):
    """`MetaException`: anything else that went wrong in the metastore, its database or its storage."""


class UnknownDatabase(MetastoreError):
    """`UnknownDBException`."""


class NoSuchLock(MetastoreError):
    """`NoSuchLockException`: the lock has expired, or somebody has removed it."""


class NoSuchTransaction(MetastoreError):
    """`NoSuchTxnException`."""


class TransactionAborted(MetastoreError):
    """`TxnAbortedException`."""


class TransactionOpen(MetastoreError):
    """`TxnOpenException`."""


class ConfigValueSecret(MetastoreError):
    """`ConfigValSecurityException`."""


class ServerFailure(MetastoreError):
    """Something failed in the metastore that its interface has no exception for."""


class UnknownMethod(Unsupported):
    """The metastore has no such call; Hive 2 has none for catalogs."""


class OutcomeUnknown(ServiceUnavailable):
    """A call that changes something was sent and not answered: done or not, only a look at the result can tell."""


NATIVE: dict[type[MetastoreError], str] = {
    NoSuchObject: "NoSuchObjectException",
    AlreadyExists: "AlreadyExistsException",
    InvalidObject: "InvalidObjectException",
    InvalidOperation: "InvalidOperationException",
    MetaFailure: "MetaException",
    UnknownDatabase: "UnknownDBException",
    NoSuchLock: "NoSuchLockException",
    NoSuchTransaction: "NoSuchTxnException",
    TransactionAborted: "TxnAbortedException",
    TransactionOpen: "TxnOpenException",
    ConfigValueSecret: "ConfigValSecurityException",
}
"""The metastore's own names for what it raises."""


def raised(kind: type[MetastoreError], call: str, message: str | None) -> MetastoreError:
    """The error for an exception that the metastore raised."""
    native = f"{NATIVE[kind]}: {first_line(message)}"
    return kind(f"the metastore answered {call} with {native}", native=native)


def refused(call: str, kind: int, message: str | None) -> LanceNsError:
    """The error for an exception of thrift itself, by its number."""
    native = first_line(message) or f"TApplicationException {kind}"
    if kind == 1 or native.startswith("Invalid method name"):
        return UnknownMethod(
            f"the metastore has no call {call}", native=native, hint="a Hive Metastore 3.1 or newer is needed"
        )
    return ServerFailure(f"the metastore failed at {call}: {native}", native=native, hint="its log tells more")


def not_understood(call: str, address: Address, cause: Exception) -> MetastoreError:
    """The error for bytes that are not the answer to a call."""
    return _caused(
        MetastoreError(
            f"what {address} sent is not an answer to {call}",
            native=_words(cause),
            hint="is it a Hive Metastore with the binary protocol, and is TLS on at both ends or at none?",
        ),
        cause,
    )


def unreachable(addresses: Sequence[Address], cause: Exception) -> ServiceUnavailable:
    """The error when no server could be connected to; the cause is the last one's."""
    import ssl

    tried = f"tried {len(addresses)} servers; " if len(addresses) > 1 else ""
    advice = "check that it runs and that 'uri' is right"
    if isinstance(cause, ssl.SSLError):
        advice = "check that TLS is on at the server, and which certificates are trusted"
    return _caused(
        ServiceUnavailable(
            f"metastore {', '.join(map(str, addresses))} unreachable: {reason(cause)}",
            native=_words(cause),
            hint=tried + advice,
        ),
        cause,
    )


def unanswered(call: str, address: Address, cause: Exception, *, reached: bool, changes: bool) -> ServiceUnavailable:
    """The error when a connection fails in mid-call; `reached` tells whether the server may have got the request."""
    what = f"{call} was not answered by metastore {address}: {reason(cause)}"
    if reached and changes:
        error: ServiceUnavailable = OutcomeUnknown(
            what, native=_words(cause), retryable=False, hint="it may have been done: look before trying again"
        )
    else:
        error = ServiceUnavailable(what, native=_words(cause), hint="try again later")
    return _caused(error, cause)


def reason(cause: Exception) -> str:
    """What happened to a connection, in words."""
    import ssl

    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed ({cause.reason or cause})"
    if isinstance(cause, TimeoutError):
        return "timed out"
    if isinstance(cause, EOFError):
        return "the connection was closed"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror[:1].lower() + cause.strerror[1:]
    return first_line(str(cause)) or type(cause).__name__


def first_line(message: str | None) -> str:
    """The first line of a server's message, without the stack that may follow it."""
    line = (message or "").strip().partition("\n")[0].strip()
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _words(cause: Exception) -> str:
    return f"{type(cause).__name__}: {first_line(str(cause))}".removesuffix(": ")


def _caused(error: E, cause: Exception) -> E:
    error.__cause__ = cause
    return error
