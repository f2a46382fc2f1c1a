"""Job ids: the same job has the same id however often it is run, so that what it did once is not done again."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from lance_ns.errors import InvalidInput

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}")


def job_id(*, pipeline: str, step: str, parameters: Mapping[str, Any]) -> str:
    """The id of a step of a pipeline with its parameters, none of which can be read from it."""
    told = json.dumps([pipeline, step, parameters], sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def fresh() -> str:
    """The id of a job that nobody will run again."""
    import uuid

    return uuid.uuid4().hex


def checked(id: str) -> str:
    """An id that a user gave.

    Raises:
        InvalidInput: it is empty, too long, or has characters that ids do not have.
    """
    if not _ID.fullmatch(id):
        raise InvalidInput(
            f"{id!r} is not a job id", hint="up to 200 letters, digits and . _ : / -, beginning with a letter or digit"
        )
    return id
