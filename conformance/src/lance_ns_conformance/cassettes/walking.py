"""Going through plain data."""

from collections.abc import Callable, Iterator
from typing import Any


def mapped(data: Any, change: Callable[[str], str]) -> Any:
    """The same data with every text changed, keys too."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {mapped(key, change): mapped(value, change) for key, value in data.items()}
    if isinstance(data, list):
        return [mapped(each, change) for each in data]
    return data


def texts(data: Any) -> Iterator[tuple[str, str]]:
    """Every text in the data with the key under which it stands, keys themselves included."""
    yield from _texts(data, "")


def _texts(data: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, str):
        yield key, data
    elif isinstance(data, dict):
        for name, value in data.items():
            if isinstance(name, str):
                yield "", name
            yield from _texts(value, str(name))
    elif isinstance(data, list):
        for each in data:
            yield from _texts(each, key)


def difference(recorded: Any, sent: Any, where: str) -> str | None:
    """The first place in which two pieces of data differ, in words; None when they do not."""
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for key in [*recorded, *(key for key in sent if key not in recorded)]:
            place = f"{where}.{key}"
            if key not in sent:
                return f"{place}: recorded {short(recorded[key])}, not sent"
            if key not in recorded:
                return f"{place}: not recorded, sent {short(sent[key])}"
            found = difference(recorded[key], sent[key], place)
            if found:
                return found
        return None
    if isinstance(recorded, list) and isinstance(sent, list) and len(recorded) == len(sent):
        for number, (one, other) in enumerate(zip(recorded, sent, strict=True)):
            found = difference(one, other, f"{where}[{number}]")
            if found:
                return found
        return None
    if recorded == sent and type(recorded) is type(sent):
        return None
    return f"{where}: recorded {short(recorded)}, sent {short(sent)}"


def short(data: Any, limit: int = 200) -> str:
    """Data on one line, cut where it gets long."""
    import json

    text = json.dumps(data, ensure_ascii=False, default=str)
    return text if len(text) <= limit else f"{text[:limit]}…"
