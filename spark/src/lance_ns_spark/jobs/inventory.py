"""Inventory: every table of one or many catalogs, side by side, as a table and as a page.

Catalogs are listed on the driver, all at once; what each table's metadata tell is looked up in tasks. A catalog that
cannot be listed is an entry with its error, and so is a table that cannot be opened.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns.identifiers import Identifier
from lance_ns.namespace import Namespace
from lance_ns_spark import commits, job_ids
from lance_ns_spark.facts import STATES, Facts, look
from lance_ns_spark.isolating import run_apart
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.tables import Table
from lance_ns_spark.whole_files import replacing
from lance_ns_spark.writing import write_fragments

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_CATALOGS_AT_ONCE = 16
_TABLES_AT_ONCE = 8
_MOST_PER_TASK = 64
_TASKS_PER_CORE = 4


@attrs.frozen(kw_only=True)
class Entry:
    """A table of a catalog with its facts; a catalog that cannot be listed is an entry without a table."""

    catalog: str
    backend: str
    identifier: str | None
    """As people of this catalog write it."""
    levels: tuple[str, ...] = ()
    facts: Facts


def inventory(
    spark: "SparkSession",
    namespaces: Mapping[str, Namespace],
    *,
    below: Mapping[str, Identifier] | None = None,
    out: Table | str | Sequence[Table | str] | None = None,
    report: str | None = None,
    job: str | None = None,
    progress: Progress = silent,
) -> Result:
    """Look at every table of catalogs.

    Args:
        spark: the session.
        namespaces: the catalogs, by the names that people know them by.
        below: the namespace to begin at, for catalogs of which not everything is wanted, or that do not list a root.
        out: where a row for each table is written: appended to a Lance table, or as a Parquet file. Each row has the
            time and the id of the job, so that one table holds many inventories.
        report: the HTML file that shows it.
        job: the job's id. An inventory that its table already holds is not taken again.
        progress: told of each table.

    Raises:
        InvalidInput: `below` names a catalog that is not there.
    """
    started = datetime.now(UTC)
    job = job_ids.fresh() if job is None else job_ids.checked(job)
    if unknown := (below or {}).keys() - namespaces.keys():
        raise InvalidInput(f"there is no catalog {', '.join(sorted(unknown))} in this inventory")
    places = [] if out is None else [out] if isinstance(out, Table | str) else list(out)
    earlier = _earlier(places, job)
    if earlier is None:
        entries = _entries(spark, namespaces, below or {}, progress)
        rows = as_arrow(entries, job=job, taken=started)
    else:
        rows = earlier
    outputs = [_written(place, rows, job) for place in places]
    if report is not None:
        outputs.append(_reported(report, rows, again=earlier is not None))
    found = rows.to_pylist()
    return Result(
        job=job,
        kind="inventory",
        started=started,
        ended=datetime.now(UTC),
        inputs=[
            Input(
                name=f"{each['catalog']}:{each['identifier']}",
                location=each["location"],
                version=each["version"],
                rows=each["rows"],
            )
            for each in found
            if each["version"] is not None
        ],
        outputs=[*outputs, *(_unreachable(each) for each in found if each["state"] == "unreachable")],
        summary=_summary(found),
    )


def as_arrow(entries: Sequence[Entry], *, job: str, taken: datetime) -> "pa.Table":
    """The rows of an inventory, one for each table."""
    import pyarrow as pa

    return pa.Table.from_pylist([_row(each, job, taken) for each in entries], schema=schema())


def schema() -> "pa.Schema":
    """The columns of an inventory."""
    import pyarrow as pa

    moment = pa.timestamp("us", "UTC")
    column = pa.struct([("name", pa.string()), ("type", pa.string())])
    vector = pa.struct([("column", pa.string()), ("dimension", pa.int32())])
    index = pa.struct(
        [
            ("name", pa.string()),
            ("type", pa.string()),
            ("columns", pa.list_(pa.string())),
            ("rows", pa.int64()),
            ("coverage", pa.float64()),
            ("segments", pa.int64()),
            ("bytes", pa.int64()),
        ]
    )
    return pa.schema(
        [
            ("job", pa.string()),
            ("taken", moment),
            ("catalog", pa.string()),
            ("backend", pa.string()),
            ("identifier", pa.string()),
            ("levels", pa.list_(pa.string())),
            ("location", pa.string()),
            ("state", pa.string()),
            ("error", pa.string()),
            ("version", pa.int64()),
            ("versions", pa.int64()),
            ("created", moment),
            ("changed", moment),
            ("age_days", pa.float64()),
            ("rows", pa.int64()),
            ("deleted_rows", pa.int64()),
            ("fragments", pa.int64()),
            ("small_fragments", pa.int64()),
            ("bytes", pa.int64()),
            ("bytes_stored", pa.int64()),
            ("missing_files", pa.list_(pa.string())),
            ("storage_version", pa.string()),
            ("columns", pa.list_(column)),
            ("vectors", pa.list_(vector)),
            ("indexes", pa.list_(index)),
            ("coverage", pa.float64()),
        ]
    )


def _row(entry: Entry, job: str, taken: datetime) -> dict[str, Any]:
    facts = entry.facts
    row = attrs.asdict(facts, recurse=True)
    return {
        **row,
        "job": job,
        "taken": taken,
        "catalog": entry.catalog,
        "backend": entry.backend,
        "identifier": entry.identifier,
        "levels": entry.levels,
        "age_days": None if facts.changed is None else (taken - facts.changed).total_seconds() / 86400,
        "columns": [{"name": each.name, "type": each.type} for each in facts.columns],
        "vectors": [
            {"column": each.name, "dimension": each.dimension} for each in facts.columns if each.dimension is not None
        ],
        "coverage": facts.coverage,
    }


# --- looking ------------------------------------------------------------------------------------------------------


def _entries(
    spark: "SparkSession", namespaces: Mapping[str, Namespace], below: Mapping[str, Identifier], progress: Progress
) -> list[Entry]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_CATALOGS_AT_ONCE) as pool:
        listed = list(pool.map(lambda name: _listed(name, namespaces[name], below.get(name)), namespaces))
    tables = [table for found, _ in listed for table in found]
    facts = _facts(spark, tables, progress)
    entries = [
        Entry(
            catalog=name,
            backend=table.ns.backend,
            identifier=table.ns.show(table.id),
            levels=table.id,
            facts=facts[number],
        )
        for number, (name, table) in enumerate(
            (name, table) for name, (found, _) in zip(namespaces, listed, strict=True) for table in found
        )
    ]
    failed = [
        Entry(catalog=name, backend=ns.backend, identifier=None, facts=Facts(state="unreachable", error=str(error)))
        for (name, ns), (_, error) in zip(namespaces.items(), listed, strict=True)
        if error is not None
    ]
    return entries + failed


def _listed(name: str, ns: Namespace, below: Identifier) -> tuple[list[Table], LanceNsError | None]:
    """The tables of a catalog, as many as it listed, and the error that ended the list."""
    found: list[Table] = []
    try:
        found.extend(Table.within(ns, id, called=name) for id in ns.list_all_tables(below))
    except LanceNsError as error:
        return found, error
    return found, None


def _facts(spark: "SparkSession", tables: Sequence[Table], progress: Progress) -> list[Facts]:
    what = f"look at {len(tables)} tables"
    size = max(1, min(_MOST_PER_TASK, len(tables) // (_TASKS_PER_CORE * spark.sparkContext.defaultParallelism)))
    groups = [range(start, min(start + size, len(tables))) for start in range(0, len(tables), size)]
    counter = Counter(progress, "inventory", "tables", len(tables), "tables")
    facts: dict[int, Facts] = {}
    while groups:
        divided = groups

        def arrived(number: int, found: list[Facts], groups: Sequence[range] = divided) -> None:
            for place, each in zip(groups[number], found, strict=True):
                counter.add(place, rows=each.rows, bytes=each.bytes)

        items = [[tables[place] for place in group] for group in divided]
        groups = []
        for group, outcome in zip(divided, run_apart(spark, what, _look_at, items, arrived=arrived), strict=True):
            if outcome.result is not None:
                facts |= zip(group, outcome.result, strict=True)
            elif len(group) == 1:
                facts[group[0]] = Facts(state="broken", error=str(outcome.error))
            else:  # one of them ended the process
                groups += [range(place, place + 1) for place in group]
    return [facts[place] for place in range(len(tables))]


def _look_at(tables: Sequence[Table]) -> list[Facts]:
    """In a task: look at a group of tables, some at once, for most of it is waiting."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        return list(pool.map(look, tables))


# --- writing ------------------------------------------------------------------------------------------------------


def _earlier(places: Sequence[Table | str], job: str) -> "pa.Table | None":
    """What an earlier run of the same job found, if a table holds it."""
    for place in places:
        if isinstance(place, Table) and commits.find(place, job) is not None:
            return place.dataset().to_table(filter=f"job = '{job}'").cast(schema())
    return None


def _written(place: Table | str, rows: "pa.Table", job: str) -> Output:
    return _to_parquet(place, rows) if isinstance(place, str) else _to_table(place, rows, job)


def _to_table(table: Table, rows: "pa.Table", job: str) -> Output:
    target = commits.prepare(table, rows.schema, "append")
    written = [write_fragments(target, rows.to_reader())] if rows.num_rows else []
    try:
        done = commits.commit(target, written, job)
    except LanceNsError:
        commits.give_up(target, written)
        raise
    return Output(
        name=table.name,
        location=target.place.location,
        read_version=target.read_version,
        version=done.version,
        again=done.again,
        rows=rows.num_rows,
        bytes=sum(each.bytes for each in written),
        fragments=sum(len(each.fragments) for each in written),
    )


def _to_parquet(path: str, rows: "pa.Table") -> Output:
    import pyarrow.parquet as pq
    from pyarrow import fs

    if "://" in path:
        system, inside = fs.FileSystem.from_uri(path)
        pq.write_table(rows, inside, filesystem=system)
        return Output(name=path, location=path, rows=rows.num_rows)
    with replacing(path) as unfinished:
        pq.write_table(rows, unfinished)
    return Output(name=path, location=path, rows=rows.num_rows, bytes=Path(path).stat().st_size)


def _reported(path: str, rows: "pa.Table", *, again: bool) -> Output:
    from lance_ns_spark.report import html

    with replacing(path) as unfinished:
        unfinished.write_text(html(rows.to_pylist()), encoding="utf-8")
    return Output(name=path, location=path, rows=rows.num_rows, bytes=Path(path).stat().st_size, again=again)


def _unreachable(row: Mapping[str, Any]) -> Output:
    return Output(name=row["catalog"], error=row["error"])


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    tables = [each for each in rows if each["state"] != "unreachable"]
    return {
        "catalogs": len({each["catalog"] for each in rows}),
        "tables": len(tables),
        **{state: count for state in STATES if (count := sum(each["state"] == state for each in rows))},
        **{
            name: sum(each[name] or 0 for each in tables)
            for name in ("rows", "bytes", "versions", "fragments", "small_fragments")
        },
    }
