"""pylance's own directory namespace: dictionaries in and out, and errors of our taxonomy."""

import os
import stat
from pathlib import Path
from typing import Any

from lance_ns.config import StorageOptions
from lance_ns.errors import (
    ErrorCode,
    InvalidInput,
    LanceNsError,
    PermissionDenied,
    ServiceUnavailable,
    Unsupported,
    error_class,
)
from lance_ns.lance.errors import translated
from lance_ns.perprocess import PerProcess

_users: set[int] = set()
_ALL_RIGHTS = os.R_OK | os.W_OK | os.X_OK


class NativeDirectory:
    """One native namespace over a root, opened when it is first used and again in a forked child."""

    def __init__(self, root: str, storage: StorageOptions, **settings: str) -> None:
        self._root = root
        self._storage = storage
        self._settings = settings
        self._native = PerProcess(self._open)

    def ask(self, operation: str, **request: Any) -> dict[str, Any]:
        """The answer to one operation.

        Raises:
            LanceNsError: what went wrong, with the code that pylance gave it.
        """
        failure: LanceNsError
        try:
            answer: dict[str, Any] | None = getattr(self._native(), operation)(request)
        except LanceNsError:
            raise
        except Exception as error:  # noqa: BLE001  # pylance raises builtins and its own, told apart below
            failure = self._failure(error, operation)
        else:
            return answer or {}
        raise failure  # outside of the handler: pylance's frames hold the storage options

    def close(self) -> None:
        """Let go of the native namespace."""
        self._native.close()

    def _open(self) -> Any:
        _refuse_after_fork()
        # The binding itself: its wrapper in lance.namespace imports hundreds of pydantic models first.
        from lance.lance import PyDirectoryNamespace  # type: ignore[attr-defined]

        options = StorageOptions({f"storage.{key}": value for key, value in self._storage.items()})
        return PyDirectoryNamespace(session=None, context_provider=None, root=self._root, **self._settings, **options)

    def _failure(self, error: Exception, operation: str) -> LanceNsError:
        code = getattr(error, "code", None)
        if code is not None and code != ErrorCode.INTERNAL:
            return error_class(code)(str(error), native=type(error).__name__)
        return self._local_failure(operation) or translated(error, operation)

    def _local_failure(self, operation: str) -> LanceNsError | None:
        """What pylance calls internal is often plain to see on a local disk."""
        if "://" in self._root:
            return None
        root, manifest = Path(self._root), Path(self._root, "__manifest")
        try:
            if not stat.S_ISDIR(root.stat().st_mode):
                return InvalidInput(f"root {root} is no directory")
            manifest.stat()
        except FileNotFoundError:
            return ServiceUnavailable(
                f"the directory {root} does not exist, or has vanished", operation=operation, hint="is it mounted?"
            )
        except NotADirectoryError:
            return InvalidInput(f"root {root} is no directory")
        except PermissionError:
            return _denied(root)
        return next((_denied(path) for path in (root, manifest) if not os.access(path, _ALL_RIGHTS)), None)


def _refuse_after_fork() -> None:
    """pylance's threads do not exist in a forked child: there it hangs or crashes, now and then."""
    _users.add(os.getpid())
    if _users != {os.getpid()}:
        raise Unsupported(
            "pylance cannot be used in a process that was forked after its first use",
            hint="start workers with spawn or forkserver, or fork before the first call",
        )


def _denied(path: Path) -> PermissionDenied:
    return PermissionDenied(f"no permission to read and write {path}", hint="check its owner and mode")
