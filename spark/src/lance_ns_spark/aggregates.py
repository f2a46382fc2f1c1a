"""Aggregates computed where the data is read: tasks return partial results, and the driver merges them.

What comes out is what Spark's own functions give: nulls are left out, a sum of nothing is null, NaN is the greatest
number, and a sum that does not fit its type is an error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import InvalidInput
from lance_ns_spark.scans import Part, Scan

if TYPE_CHECKING:
    import pyarrow as pa

FUNCTIONS = ("count", "sum", "min", "max", "avg")
"""The functions that there are."""
_CALL = re.compile(rf"\s*({'|'.join(FUNCTIONS)})\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_AT_ONCE = 1 << 20
_MERGED_BY = {"count": "sum", "sum": "sum", "min": "min", "max": "max", "nan": "any"}
_ROWS = "rows"


@attrs.frozen
class Measure:
    """One aggregate: its name, its function, and the expression that it is computed of; none for `count(*)`."""

    name: str
    function: str
    of: str | None


@attrs.frozen
class Aggregation:
    """What is to be computed of a table."""

    by: Mapping[str, str]
    measures: Sequence[Measure]

    @property
    def arguments(self) -> list[str]:
        """The expressions that are read, each once."""
        return list(dict.fromkeys(each.of for each in self.measures if each.of is not None))

    @property
    def columns(self) -> dict[str, str]:
        """What a scan must read, by names that no expression has."""
        keys = {f"by_{number}": expression for number, expression in enumerate(self.by.values())}
        return keys | {f"of_{number}": expression for number, expression in enumerate(self.arguments)}

    @property
    def keys(self) -> list[str]:
        """The names of the columns that rows are grouped by, while it is computed."""
        return [f"by_{number}" for number in range(len(self.by))]


def parsed(measures: Mapping[str, str], by: Sequence[str] | Mapping[str, str]) -> Aggregation:
    """What a user asks for.

    Raises:
        InvalidInput: there is nothing to compute, or it is no call of one of the functions.
    """
    if not measures:
        raise InvalidInput("there is nothing to compute", hint='name it: {"n": "count(*)"}')
    if isinstance(by, str):
        raise InvalidInput("by is a list of columns", hint=f'by=["{by}"]')
    keys = dict(by) if isinstance(by, Mapping) else {name: name for name in by}
    if twice := keys.keys() & measures.keys():
        raise InvalidInput(f"{', '.join(sorted(twice))} is both a group and an aggregate", hint="rename one")
    return Aggregation(keys, [_measure(name, text) for name, text in measures.items()])


def _measure(name: str, text: str) -> Measure:
    match = _CALL.fullmatch(text)
    if not match or not _closes_last(match[2]) or re.match(r"\s*(distinct|all)\b", match[2], re.IGNORECASE):
        raise InvalidInput(
            f"{text!r} is not one call of {', '.join(FUNCTIONS)}", hint="read the table and let Spark compute it"
        )
    function, argument = match[1].lower(), match[2].strip()
    if (argument == "*" and function != "count") or not argument:
        raise InvalidInput(f"{text!r} names no column")
    return Measure(name, function, None if argument == "*" else argument)


def _closes_last(inside: str) -> bool:
    """Whether a call's parenthesis is closed by the last one, not by one inside."""
    depth = 0
    for letter in re.sub(r"'[^']*'", "", inside):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0


class Partial:
    """Computes the partial results of a part of a table."""

    def __init__(self, scan: Scan, wanted: Aggregation) -> None:
        self._scan = scan
        self._wanted = wanted

    def __call__(self, part: Part | None) -> "pa.Table":
        """The partial results; those of no rows without a part."""
        import pyarrow as pa

        batches = self._scan.batches(part) if part is not None else iter(())
        made = [reduced(pa.Table.from_batches(some, self._scan.schema), self._wanted) for some in _some(batches)]
        return merged(made, self._wanted) if made else reduced(self._scan.schema.empty_table(), self._wanted)


def _some(batches: "Iterator[pa.RecordBatch]") -> "Iterator[list[pa.RecordBatch]]":
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _AT_ONCE:
            yield held
            held = []
    if held:
        yield held


def reduced(rows: "pa.Table", wanted: Aggregation) -> "pa.Table":
    """The partial results of some rows: one row for each group."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types as t

    columns = {key: _key(rows.column(key)) for key in wanted.keys}
    asked: list[tuple[Any, ...]] = [([], "count_all")]
    names = [_ROWS]
    for number, argument in enumerate(wanted.arguments):
        functions = {each.function for each in wanted.measures if each.of == argument}
        values = rows.column(f"of_{number}")
        prepared: dict[str, Any] = {}
        if functions & {"count", "avg"}:
            prepared["count"] = values
        if functions & {"sum", "avg"}:
            prepared["sum"] = _summable(values, argument)
        if functions & {"min", "max"}:
            numbers = values
            if t.is_floating(values.type):
                prepared["nan"] = pc.is_nan(values)
                numbers = pc.if_else(prepared["nan"], pa.scalar(None, values.type), values)
            prepared |= {each: numbers for each in ("min", "max") if each in functions}
        for kind, column in prepared.items():
            columns[f"{kind}_{number}"] = column
            asked.append((f"{kind}_{number}", "any" if kind == "nan" else kind))
            names.append(f"{kind}_{number}")
    if not columns:
        return pa.table({_ROWS: pa.array([rows.num_rows], pa.int64())})
    try:
        table = pa.table(columns).group_by(wanted.keys, use_threads=False).aggregate(asked)
    except pa.ArrowNotImplementedError as error:
        raise InvalidInput(
            f"an aggregate has no such type: {error}", hint="read the table and let Spark compute it"
        ) from None
    made = {key: table.column(key) for key in wanted.keys}
    made |= {
        name: table.column(_answered(column, function)) for name, (column, function) in zip(names, asked, strict=True)
    }
    return pa.table({name: _widened(name, column) for name, column in made.items()})


def merged(partials: "Sequence[pa.Table]", wanted: Aggregation) -> "pa.Table":
    """The partial results of all that some partial results were computed of."""
    import pyarrow as pa

    together = pa.concat_tables(partials)
    names = [name for name in together.column_names if name not in wanted.keys]
    asked = [(name, "sum" if name == _ROWS else _MERGED_BY[name.partition("_")[0]]) for name in names]
    table = together.group_by(wanted.keys, use_threads=False).aggregate(asked)
    made = {key: table.column(key) for key in wanted.keys}
    made |= {name: table.column(_answered(name, function)) for name, function in asked}
    return pa.table({name: _widened(name, column) for name, column in made.items()})


def finished(partials: "Sequence[pa.Table]", wanted: Aggregation, schema: "pa.Schema") -> "pa.Table":
    """The results, in a table of the groups' columns and the aggregates.

    Args:
        partials: what the tasks returned, or the partial results of no rows.
        wanted: what was asked for.
        schema: that of the scan.

    Raises:
        InvalidInput: a sum is larger than its type.
    """
    import pyarrow as pa

    whole = merged(partials, wanted)
    columns = {name: whole.column(key) for name, key in zip(wanted.by, wanted.keys, strict=True)}
    for measure in wanted.measures:
        if measure.of is None:
            columns[measure.name] = _counted(whole.column(_ROWS))
        else:
            number = wanted.arguments.index(measure.of)
            columns[measure.name] = _result(measure, whole, number, schema.field(f"of_{number}").type)
    return pa.table(columns)


def _result(measure: Measure, whole: "pa.Table", number: int, type: "pa.DataType") -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types as t

    if measure.function == "count":
        return _counted(whole.column(f"count_{number}"))
    if measure.function in ("min", "max"):
        found = whole.column(f"{measure.function}_{number}")
        if not t.is_floating(type):
            return found
        has_nan = pc.fill_null(whole.column(f"nan_{number}"), fill_value=False)
        wins = has_nan if measure.function == "max" else pc.and_(has_nan, pc.is_null(found))
        return pc.if_else(wins, pa.scalar(float("nan"), type), found)
    sums = whole.column(f"sum_{number}")
    if measure.function == "sum":
        return _fitting(sums, _sum_type(type), measure)
    counts = pc.if_else(pc.equal(whole.column(f"count_{number}"), 0), None, whole.column(f"count_{number}"))
    if not t.is_decimal(type):
        return pc.divide(sums.cast(pa.float64()), counts.cast(pa.float64()))
    result = pa.decimal128(min(38, type.precision + 4), min(38, type.scale + 4))
    return pa.array(
        [_average(*pair, result.scale) for pair in zip(sums.to_pylist(), counts.to_pylist(), strict=True)], result
    )


def _average(total: Any, count: int | None, scale: int) -> Any:
    import decimal

    if total is None or count is None:
        return None
    with decimal.localcontext(decimal.Context(prec=76)):
        return (total / count).quantize(decimal.Decimal(1).scaleb(-scale), rounding=decimal.ROUND_HALF_UP)


def _sum_type(type: "pa.DataType") -> "pa.DataType":
    import pyarrow as pa
    from pyarrow import types as t

    if t.is_decimal(type):
        return pa.decimal128(min(38, type.precision + 10), type.scale)
    return pa.float64() if t.is_floating(type) else pa.int64()


def _fitting(sums: Any, type: "pa.DataType", measure: Measure) -> Any:
    import pyarrow as pa

    try:
        return sums.cast(type)
    except pa.ArrowInvalid:
        raise InvalidInput(
            f"{measure.name}, the sum of {measure.of}, is too large for {type}",
            hint=f"sum(cast({measure.of} as double))",
        ) from None


def _summable(values: Any, argument: str) -> Any:
    """Numbers in a type whose sums cannot overflow."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types as t

    if t.is_decimal(values.type):
        return values.cast(pa.decimal256(76, values.type.scale))
    if t.is_floating(values.type) or t.is_null(values.type):
        return values.cast(pa.float64())
    if not t.is_integer(values.type):
        raise InvalidInput(f"{argument} is {values.type}, and no number", hint="cast it")
    ends = pc.min_max(values).as_py()
    if max(-(ends["min"] or 0), ends["max"] or 0) * len(values) < 1 << 63:
        return values
    return values.cast(pa.decimal256(76, 0))


def _widened(name: str, column: Any) -> Any:
    """Sums of integers in one type, whatever they were computed in, so that merging them cannot overflow."""
    import pyarrow as pa
    from pyarrow import types as t

    if name.startswith("sum_") and (t.is_integer(column.type) or t.is_decimal(column.type)):
        scale = column.type.scale if t.is_decimal(column.type) else 0
        return column.cast(pa.decimal256(76, scale))
    return column


def _key(column: Any) -> Any:
    """A column to group by: both zeros are one to Spark."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types as t

    return pc.add(column, pa.scalar(0.0, column.type)) if t.is_floating(column.type) else column


def _counted(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.fill_null(column.cast(pa.int64()), 0)


def _answered(column: Any, function: str) -> str:
    """What pyarrow calls the answer."""
    return function if not isinstance(column, str) else f"{column}_{function}"
