"""What pylance raises, its panics included, as errors of the taxonomy."""

from collections.abc import Iterator
from contextlib import contextmanager

from lance_ns.errors import Internal
from lance_ns.lance.errors import pylance_errors


@contextmanager
def native_errors(doing: str) -> Iterator[None]:
    """As `pylance_errors`, and a panic of the native code, which data that is broken may cause, is Internal."""
    try:
        with pylance_errors(doing):
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # it is no Exception, and has no name that can be imported
            raise
        raise Internal(f"{doing}: {error}", native="PanicException") from error.with_traceback(None)
