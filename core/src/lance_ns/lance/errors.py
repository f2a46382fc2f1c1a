"""What pylance raises, as errors of the taxonomy.

It tells its errors apart by text only, so this is a table of texts.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    InvalidTableState,
    LanceNsError,
    PermissionDenied,
    ServiceUnavailable,
    TableAlreadyExists,
    TableSchemaValidationError,
    TableTagNotFound,
    TableVersionNotFound,
    Throttling,
    Unauthenticated,
)

_TABLE: tuple[tuple[str, type[LanceNsError]], ...] = (
    (r"tag \S+ does not exist|Ref not found", TableTagNotFound),
    (r"_versions/\d+\.manifest(\S*)? was not found|version \d+ .*not found", TableVersionNotFound),
    (r"was not found|Not found: ", InvalidTableState),
    (r"already exists", TableAlreadyExists),
    (r"different schema|schema mismatch|[Ss]chema .*does not match", TableSchemaValidationError),
    (r"[Cc]ommit conflict|Retryable commit conflict|concurrent", ConcurrentModification),
    (r"SlowDown|429|Too Many Requests", Throttling),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|401 Unauthorized|credential", Unauthenticated),
    (r"Permission denied|Read-only file system|AccessDenied|403 Forbidden|os error (13|30)\b", PermissionDenied),
    (r"error sending request|timed out|timeout|connection (refused|reset)|503|dispatch failure", ServiceUnavailable),
    (r"No object store provider|Unknown data type|Invalid user input", InvalidInput),
)
_PLACE = re.compile(r",? ?(location: )?\S*/rust/\S+:\d+:\d+|LanceError\(\w+\): ")


def translated(error: Exception, doing: str) -> LanceNsError:
    """The error of the taxonomy for what pylance raised while doing something."""
    text = str(error)
    kind = next((kind for pattern, kind in _TABLE if re.search(pattern, text)), Internal)
    return kind(f"{doing}: {_PLACE.sub('', text).strip()}", native=type(error).__name__)


@contextmanager
def pylance_errors(doing: str) -> Iterator[None]:
    """Raise whatever pylance raises inside as errors of the taxonomy.

    An error that passed through one of our own hooks, called by pylance, comes out as it went in.
    """
    try:
        yield
    except LanceNsError:
        raise
    except Exception as error:  # noqa: BLE001  # pylance raises builtins and its own, told apart by their texts
        if isinstance(error.__cause__, LanceNsError):
            raise error.__cause__ from None
        # Without the frames inside of pylance, whose variables hold storage options.
        error.__cause__ = error.__context__ = None
        raise translated(error, doing) from error.with_traceback(None)
