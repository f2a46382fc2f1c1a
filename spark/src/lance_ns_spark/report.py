"""An inventory as one self-contained HTML page: totals, charts, and a table to sort and filter."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

from lance_ns_spark.facts import STATES

Row = Mapping[str, Any]
Pieces = Sequence[tuple[str, float]]
"""The parts of a bar: their colours and lengths."""

_BARS = 12
"""How many tables a chart names."""
_LONGEST = 400
_AGES = (("1 day", 1), ("1 week", 7), ("1 month", 30), ("3 months", 91), ("1 year", 365), ("older", None))
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def html(rows: Sequence[Row]) -> str:
    """The page of an inventory's rows."""
    tables = [each for each in rows if each["state"] != "unreachable"]
    parts = {
        "taken": _taken(rows),
        "tiles": "".join(_tiles(rows, tables)),
        "problems": "".join(_problems(rows)),
        "charts": "".join(_charts(rows, tables)),
        "catalogs": _options(dict.fromkeys(each["catalog"] for each in rows)),
        "states": _options(state for state in STATES if any(each["state"] == state for each in rows)),
        "legend": " ".join(f"<span>{_mark(state)} {escape(means)}</span>" for state, means in STATES.items()),
        "rows": "".join(_table_row(each) for each in rows),
    }
    page = files("lance_ns_spark").joinpath("report.html").read_text(encoding="utf-8")
    before, *rest = page.split("{{")
    return before + "".join(parts[name] + text for name, _, text in (each.partition("}}") for each in rest))


def number(value: float) -> str:
    """A count as people read it."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (size if unit != 'k' else 1e3):.3g} {unit}"
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Bytes as people read them."""
    unit = 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def _clean(text: Any) -> str:
    """Text that every file can hold, harmless in HTML: names are whatever a catalog accepts."""
    return escape(str(text).encode(errors="backslashreplace").decode())


def _short(error: str | None) -> str:
    """The beginning of an error: some servers answer with pages. A table's details, and the rows, have all of it."""
    error = error or ""
    return error if len(error) <= _LONGEST else f"{error[:_LONGEST]}…"


def _taken(rows: Sequence[Row]) -> str:
    if not rows:
        return "nothing was found"
    catalogs = len({each["catalog"] for each in rows})
    taken, job = rows[0]["taken"], _clean(rows[0]["job"])
    return f"{catalogs} catalog{'s' if catalogs != 1 else ''}, {taken:%Y-%m-%d %H:%M} UTC, job {job}"


def _named(row: Row) -> str:
    return f"{row['catalog']}: {row['identifier']}"


def _options(values: Iterable[str]) -> str:
    return "".join(f'<option value="{_clean(each)}">{_clean(each)}</option>' for each in values)


def _mark(state: str) -> str:
    return f'<b class="mark {state}">{state}</b>'


# --- totals and what needs attention ------------------------------------------------------------------------------


def _tiles(rows: Sequence[Row], tables: Sequence[Row]) -> Iterable[str]:
    def total(name: str) -> int:
        return sum(each[name] or 0 for each in tables)

    bad = sum(each["state"] in ("missing", "broken", "unreachable") for each in rows)
    indexes = [index for each in tables for index in each["indexes"]]
    covered = sum(index["rows"] for index in indexes)
    of = sum(each["rows"] for each in tables for _ in each["indexes"])
    small, fragments = total("small_fragments"), total("fragments")
    yield _tile("tables", number(len(tables)), f"{sum(each['state'] == 'declared' for each in tables)} declared only")
    yield _tile("rows", number(total("rows")), f"{number(total('deleted_rows'))} deleted, still stored")
    yield _tile("bytes", size(total("bytes")), f"{size(total('bytes_stored'))} with old versions and indexes")
    yield _tile("versions", number(total("versions")), f"most {max((each['versions'] for each in tables), default=0)}")
    yield _tile("fragments", number(fragments), f"{number(small)} small")
    yield _tile(
        "index coverage",
        f"{_percent(covered / of)}" if of else "–",
        f"{len(indexes)} indexes of {sum(bool(each['indexes']) for each in tables)} tables",
    )
    yield _tile("missing or broken", number(bad), "see below" if bad else "all is there", "bad" if bad else "good")


def _tile(name: str, value: str, note: str, kind: str = "") -> str:
    return f'<div class="tile {kind}"><small>{name}</small><strong>{value}</strong><small>{note}</small></div>'


def _problems(rows: Sequence[Row]) -> Iterable[str]:
    bad = [each for each in rows if each["state"] in ("missing", "broken", "unreachable")]
    if not bad:
        return
    shown = " open" if len(bad) <= 20 else ""
    yield f'<details class="problems"{shown}><summary>{len(bad)} missing or broken</summary><ul>'
    for each in bad:
        name = each["catalog"] if each["identifier"] is None else _named(each)
        yield f"<li>{_mark(each['state'])} {_clean(name)}<br><small>{_clean(_short(each['error']))}</small></li>"
    yield "</ul></details>"


# --- charts -------------------------------------------------------------------------------------------------------


def _charts(rows: Sequence[Row], tables: Sequence[Row]) -> Iterable[str]:
    data = [each for each in tables if each["version"] is not None]
    states = [state for state in STATES if any(each["state"] == state for each in rows)]
    legend = " ".join(f'<i class="{state}"></i> {state}' for state in states)
    yield _figure("Tables by catalog and state", _stacks(rows), legend)
    yield _figure(
        "Last changed",
        _columns(_ages(data)),
        "tables whose newest version is younger than this, and not in an earlier column",
    )
    yield _figure("Rows", _bars(_largest(data, "rows"), lambda row: [("plain", row["rows"])], number))
    yield _figure(
        "Bytes",
        _bars(
            _largest(data, "bytes_stored"),
            lambda row: [("plain", row["bytes"]), ("pale", max(0, row["bytes_stored"] - row["bytes"]))],
            size,
        ),
        '<i class="plain"></i> newest version <i class="pale"></i> old versions, indexes and leftovers',
    )
    yield _figure("Versions", _bars(_largest(data, "versions"), lambda row: [("plain", row["versions"])], number))
    yield _figure(
        "Fragments",
        _bars(
            _largest(data, "fragments"),
            lambda row: [
                ("warn", row["small_fragments"]),
                ("plain", row["fragments"] - row["small_fragments"]),
            ],
            number,
        ),
        '<i class="warn"></i> small: fewer than 1 Mi rows and 128 MiB <i class="plain"></i> others',
    )
    yield _figure(
        "Index coverage",
        _coverage(data),
        "the least covered first; rows that no index covers are searched one by one",
    )


def _figure(title: str, chart: str, note: str = "") -> str:
    return f"<figure><figcaption>{title}<small>{note}</small></figcaption>{chart or '<p>None.</p>'}</figure>"


def _largest(rows: Sequence[Row], name: str) -> list[Row]:
    return sorted((each for each in rows if each[name]), key=lambda each: -each[name])[:_BARS]


def _bars(rows: Sequence[Row], pieces: Callable[[Row], Pieces], shown: Callable[[float], str]) -> str:
    most = max((sum(value for _, value in pieces(each)) for each in rows), default=0)
    return _lines(
        [
            (_named(each), each["identifier"], pieces(each), shown(sum(value for _, value in pieces(each))))
            for each in rows
        ],
        most,
    )


def _coverage(rows: Sequence[Row]) -> str:
    indexes = sorted(
        ((index["coverage"], _named(each), each["identifier"], index) for each in rows for index in each["indexes"]),
        key=lambda each: each[:2],
    )
    return _lines(
        [
            (
                f"{name}, {index['name']} ({index['type']})",
                identifier,
                [("plain", coverage), ("pale", 1 - coverage)],
                _percent(coverage),
            )
            for coverage, name, identifier, index in indexes[:_BARS]
        ],
        1,
    )


def _percent(share: float) -> str:
    """A share that is all, or nothing, only when it is."""
    if 0 < share < 0.001 or 0.999 < share < 1:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    return f"{100 * share:.3g} %"


def _stacks(rows: Sequence[Row]) -> str:
    catalogs = dict.fromkeys(each["catalog"] for each in rows)
    counts = {
        name: [(state, sum(each["catalog"] == name and each["state"] == state for each in rows)) for state in STATES]
        for name in catalogs
    }
    most = max((sum(count for _, count in each) for each in counts.values()), default=0)
    lines = [(name, None, pieces, number(sum(count for _, count in pieces))) for name, pieces in counts.items()]
    return _lines(lines, most)


def _lines(lines: Sequence[tuple[str, str | None, Pieces, str]], most: float) -> str:
    """Horizontal bars, each with its name above it; one that stands for a table leads to it."""
    if not lines or not most:
        return ""
    step, width = 32, 400
    drawn = []
    for place, (name, table, pieces, label) in enumerate(lines):
        top, left = place * step, 0.0
        link = f' data-find="{_clean(table)}" tabindex="0" role="button"' if table is not None else ""
        short = name if len(name) <= 58 else f"{name[:28]}…{name[-29:]}"
        drawn.append(f"<g{link}><title>{_clean(name)}: {_clean(label)}</title>")
        drawn.append(f'<rect class="row" y="{top}" width="{width}" height="{step}"/>')
        drawn.append(f'<text y="{top + 12}">{_clean(short)}</text>')
        for kind, value in pieces:
            length = value / most * (width - 64)
            if length > 0:
                drawn.append(
                    f'<rect class="{kind}" x="{left:.1f}" y="{top + 17}" width="{max(length, 1):.1f}" height="9"/>'
                )
                left += length
        drawn.append(f'<text class="value" x="{max(left, 1) + 5:.1f}" y="{top + 26}">{_clean(label)}</text></g>')
    return f'<svg viewBox="0 0 {width} {len(lines) * step}" role="group">{"".join(drawn)}</svg>'


def _ages(rows: Sequence[Row]) -> list[tuple[str, int]]:
    counts = []
    youngest = float("-inf")
    for name, days in _AGES:
        oldest = float("inf") if days is None else days
        counts.append((name, sum(youngest <= (each["age_days"] or 0) < oldest for each in rows)))
        youngest = oldest
    return counts


def _columns(counts: Sequence[tuple[str, int]]) -> str:
    most = max((count for _, count in counts), default=0)
    if not most:
        return ""
    width, height, each = 400, 150, 400 / len(counts)
    drawn = []
    for place, (name, count) in enumerate(counts):
        tall = count / most * (height - 44)
        middle = place * each + each / 2
        drawn.append(f'<g><title>{name}: {count}</title><rect class="plain" x="{middle - each / 2 + 6:.1f}" ')
        drawn.append(f'y="{height - 22 - tall:.1f}" width="{each - 12:.1f}" height="{tall:.1f}"/>')
        drawn.append(
            f'<text class="value" text-anchor="middle" x="{middle:.1f}" y="{height - 27 - tall:.1f}">{count}</text>'
        )
        drawn.append(f'<text text-anchor="middle" x="{middle:.1f}" y="{height - 6}">{name}</text></g>')
    return f'<svg viewBox="0 0 {width} {height}" role="img">{"".join(drawn)}</svg>'


# --- the table ----------------------------------------------------------------------------------------------------


def _table_row(row: Row) -> str:
    cells = [
        _cell(row["catalog"], _clean(row["catalog"])),
        _name_cell(row),
        _cell(row["state"], _mark(row["state"])),
        _count(row, "rows", number),
        _count(row, "deleted_rows", number),
        _count(row, "bytes", size),
        _count(row, "versions", number),
        _count(row, "fragments", number),
        _count(row, "small_fragments", number),
        _cell("" if row["coverage"] is None else row["coverage"], _indexes(row), "number"),
        _cell(len(row["vectors"]), _vectors(row)),
        _cell("" if row["age_days"] is None else row["age_days"], _age(row), "number"),
    ]
    kinds = f'data-catalog="{_clean(row["catalog"])}" data-state="{_clean(row["state"])}"'
    return f"<tr {kinds}>{''.join(cells)}</tr>"


def _cell(key: Any, shown: str, kind: str = "") -> str:
    return f'<td data-key="{_clean(key)}"{f" class={kind}" if kind else ""}>{shown}</td>'


def _name_cell(row: Row) -> str:
    if row["identifier"] is None:
        return _cell("", f"<small>{_clean(_short(row['error']))}</small>")
    facts = [
        ("location", row["location"]),
        ("error", row["error"]),
        ("version", row["version"]),
        ("created", _time(row["created"])),
        ("changed", _time(row["changed"])),
        ("stored", size(row["bytes_stored"]) if row["bytes_stored"] else None),
        ("storage version", row["storage_version"]),
        ("columns", ", ".join(f"{each['name']} {each['type']}" for each in row["columns"])),
        ("missing files", ", ".join(row["missing_files"])),
    ]
    listed = "".join(f"<dt>{term}</dt><dd>{_clean(fact)}</dd>" for term, fact in facts if fact not in (None, ""))
    name = _clean(row["identifier"])
    return _cell(row["identifier"], f"<details><summary>{name}</summary><dl>{listed}</dl></details>")


def _count(row: Row, name: str, shown: Callable[[float], str]) -> str:
    if row["version"] is None:
        return _cell("", "–", "number")
    return _cell(row[name], shown(row[name]), "number")


def _indexes(row: Row) -> str:
    if not row["indexes"]:
        return "–"
    told = "\n".join(f"{each['name']} {each['type']} {_percent(each['coverage'])}" for each in row["indexes"])
    return f'<span title="{_clean(told)}">{_percent(row["coverage"])} <small>of {len(row["indexes"])}</small></span>'


def _vectors(row: Row) -> str:
    return "<br>".join(f"{_clean(each['column'])} <small>{each['dimension']}</small>" for each in row["vectors"]) or "–"


def _age(row: Row) -> str:
    days = row["age_days"]
    if days is None:
        return "–"
    if days < 1:
        return f"{max(days, 0) * 24:.0f} h"
    return f"{days:.0f} d" if days < 730 else f"{days / 365:.1f} y"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"
