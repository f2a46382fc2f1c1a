"""The file of a cassette: one sorted YAML document that people read and review."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

FORMAT = 1
KEYS = ("backend", "format", "interactions", "scenario", "server")

Interaction = dict[str, Any]
"""A request and its response, as plain data."""


class CassetteError(Exception):
    """A recording is missing, damaged, unsafe, or not what the scenario asks for; the message says which and why."""


@attrs.frozen(kw_only=True)
class Cassette:
    """What was recorded of one scenario on one server."""

    backend: str
    server: str
    scenario: str
    interactions: list[Interaction]

    def text(self) -> str:
        """The cassette as its file holds it."""
        return dumped({"format": FORMAT, **attrs.asdict(self, recurse=False)})

    def write(self, path: Path) -> None:
        """Put the cassette into its file, as a whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(self.text(), encoding="utf-8")
        partial.replace(path)


def read(path: Path, *, backend: str, server: str, scenario: str) -> Cassette:
    """The cassette of a file.

    Raises:
        CassetteError: it cannot be read, has another format, or belongs to something else.
    """
    import yaml  # type: ignore[import-untyped]

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CassetteError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise CassetteError(f"{path} is no cassette: it is no mapping")
    if content.get("format") != FORMAT:
        said = f"format {content['format']!r}" if "format" in content else "no format"
        raise CassetteError(f"{path} has {said}, and this kit reads format {FORMAT}: record it again")
    if set(content) != set(KEYS):
        wrong = ", ".join(sorted(map(str, set(content) ^ set(KEYS))))
        raise CassetteError(f"{path} is no cassette: missing or unknown: {wrong}")
    for key, expected in (("backend", backend), ("server", server), ("scenario", scenario)):
        if content[key] != expected:
            raise CassetteError(f"{path} is a recording of {key} {content[key]!r}, not of {expected!r}")
    interactions = content["interactions"]
    if not isinstance(interactions, list):
        raise CassetteError(f"{path} is no cassette: its interactions are no list")
    for number, each in enumerate(interactions, 1):
        if not isinstance(each, dict) or set(each) != {"request", "response"}:
            raise CassetteError(f"{path}: interaction {number} is not a request and a response")
        if not all(isinstance(part, dict) for part in each.values()):
            raise CassetteError(f"{path}: a part of interaction {number} is no mapping")
    return Cassette(backend=backend, server=server, scenario=scenario, interactions=interactions)


def dumped(content: Any) -> str:
    """Plain data as YAML: sorted, in any script, texts of several lines as blocks, short lists on a line."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, _: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    def items(dumper: Any, values: list[Any]) -> Any:
        short = all(isinstance(each, str | int | float | None) for each in values) and len(str(values)) < 80
        return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, items)
    return str(yaml.dump(content, Dumper=Dumper, allow_unicode=True, width=120))


def orphans(directory: Path, used: Mapping[str, Iterable[str]]) -> list[Path]:
    """The files of a directory of cassettes that nothing uses.

    Args:
        directory: holds a directory for each server.
        used: the ids of the scenarios that each server replays.
    """
    wanted = {directory / server / f"{id}.yaml" for server, ids in used.items() for id in ids}
    return sorted(each for each in directory.rglob("*") if each.is_file() and each not in wanted)
