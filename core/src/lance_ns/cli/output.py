"""Answers on the terminal: JSON, tables, sizes. Written by hand, for a rendering library would double the start-up."""

from collections.abc import Iterable, Sequence
from typing import Any

import click


def show_json(content: Any) -> None:
    """Print content as JSON."""
    import json

    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def tell(answer: Any, line: str, *, as_json: bool) -> None:
    """Print what a change answered: as JSON without storage options, which may be secret, or as a line for people."""
    if not as_json:
        click.echo(line)
        return
    from lance_ns import wire

    show_json({key: value for key, value in wire.unstructure(answer).items() if key != "storage_options"})


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in aligned columns."""
    lines = [tuple(headings), *(tuple(map(clean, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for at, line in enumerate(lines):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        click.echo(click.style(text, bold=True) if at == 0 else text)


def show_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {clean(value)}")


def count(number: int) -> str:
    """A number as people read it: 950, 12.3 k, 1.2 M."""
    return _scaled(number, ("", " k", " M", " G", " T"), 1000)


def size(number: int) -> str:
    """A number of bytes as people read it: 950 B, 12.3 kB, 8.1 GB."""
    return _scaled(number, (" B", " kB", " MB", " GB", " TB", " PB"), 1000)


def clean(text: str) -> str:
    """A name or value that cannot move the cursor or hide anything on a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _scaled(number: float, units: Sequence[str], step: int) -> str:
    for unit in units:
        if number < step or unit == units[-1]:
            return f"{number:.0f}{unit}" if unit == units[0] else f"{number:.1f}{unit}"
        number /= step
    raise AssertionError
