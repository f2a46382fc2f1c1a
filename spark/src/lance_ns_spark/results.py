"""What a job tells when it is done: counts, versions and lineage, for people and for programs."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Output:
    """A table, or a file, that a job made or changed."""

    name: str
    location: str | None = None
    version: int | None = None
    """The version that the job made; None where it made none."""
    read_version: int | None = None
    """The version that was there before; 0 where there was no data."""
    rows: int = 0
    bytes: int = 0
    fragments: int = 0
    again: bool = False
    """Whether an earlier run of the job had done it."""
    error: str | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Input:
    """What a job read: a table at a version, or files."""

    name: str
    location: str | None = None
    version: int | None = None
    rows: int | None = None


@attrs.frozen(kw_only=True)
class Result:
    """The outcome of one job."""

    job: str
    """Its id."""
    kind: str
    """ingest, copy, inventory, maintain or verify."""
    started: datetime
    ended: datetime
    inputs: Sequence[Input] = ()
    outputs: Sequence[Output] = ()
    summary: Mapping[str, Any] = attrs.field(factory=dict)
    """Counts that people want to see, in the order in which they are shown."""
    dry_run: bool = False

    @property
    def failed(self) -> Sequence[Output]:
        """The outputs that have an error."""
        return [output for output in self.outputs if output.error is not None]

    def as_json(self) -> str:
        """The result with its lineage, as one JSON document."""
        return json.dumps(attrs.asdict(self, value_serializer=_plain), indent=2, ensure_ascii=False) + "\n"


def _plain(_: Any, __: Any, value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
