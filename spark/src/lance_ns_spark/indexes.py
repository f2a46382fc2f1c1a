"""Indexes, built side by side: tasks make segments of fragments that have none, and one commit makes them an index.

The model of a vector index is trained on the driver first, so that all segments share it. Fragments that an index
already covers are left alone: building an index that is complete does nothing.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import ConcurrentModification, InvalidInput, TableColumnNotFound
from lance_ns_spark import commits, tasks
from lance_ns_spark.facts import covered, indexes_of
from lance_ns_spark.native import native_errors
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Output
from lance_ns_spark.tables import Table, dataset_at

if TYPE_CHECKING:
    import lance
    from pyspark.sql import SparkSession

SCALAR = ("BTREE", "BITMAP", "LABEL_LIST", "INVERTED", "NGRAM", "ZONEMAP", "BLOOMFILTER")
VECTOR = ("IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ")
TYPES = (*SCALAR, *VECTOR)
"""The types of indexes that can be built: for values, for words, and for vectors."""
ONE_MODEL = ("INVERTED", *VECTOR)
"""Of these all segments must share the tokenizer or the model, so pylance itself extends them."""
NOT_REMAPPED = ("ZONEMAP", "BLOOMFILTER")
"""Compaction takes the fragments that it writes out of these; they are indexed anew."""

ROWS_PER_SEGMENT = 1 << 18
"""A segment is not made smaller than this for the sake of one more task: a search looks into every segment."""
ATTEMPTS = 3


def _upper(text: str) -> str:
    return text.upper()


def _known(_: Any, __: Any, type: str) -> None:
    if type not in TYPES:
        raise InvalidInput(f"{type!r} is not a type of index", hint=f"choose one of {', '.join(TYPES)}")


@attrs.frozen
class IndexSpec:
    """An index that a table should have."""

    column: str
    type: str = attrs.field(converter=_upper, validator=_known)
    name: str | None = None
    params: Mapping[str, Any] = attrs.field(factory=dict)
    """pylance's own parameters of this type, such as `metric`, `num_partitions` or `with_position`."""

    @property
    def called(self) -> str:
        """Its name, or the one that Lance gives."""
        return self.name or f"{self.column}_idx"


@attrs.frozen(kw_only=True)
class Gap:
    """What an index does not cover yet."""

    fragments: Mapping[int, int]
    """The fragments, with the rows of each."""
    fresh: bool
    """Whether there is no such index at all."""
    empty_segments: Sequence[Any] = ()
    """Segments of fragments that are all gone."""

    @property
    def rows(self) -> int:
        """The rows that it does not cover."""
        return sum(self.fragments.values())


def gap(dataset: "lance.LanceDataset", spec: IndexSpec) -> Gap:
    """What an index does not cover.

    Raises:
        TableColumnNotFound: there is no such column.
        InvalidInput: the name is taken by an index of another type or column.
    """
    if dataset.lance_schema.field(spec.column) is None:
        raise TableColumnNotFound(
            f"there is no column {spec.column!r} to index", hint=f"columns are {', '.join(dataset.schema.names)}"
        )
    rows = {each.fragment_id: each.metadata.num_rows for each in dataset.get_fragments()}
    there = next((each for each in indexes_of(dataset) if each.name == spec.called), None)
    if there is None:
        return Gap(fragments=rows, fresh=True)
    if _plain(there.index_type) != _plain(spec.type) or there.field_names != [spec.column]:
        raise InvalidInput(
            f"index {spec.called!r} is there already, as {there.index_type} of {', '.join(there.field_names)}",
            hint="give this one another name, or drop that one first",
        )
    known = covered(there)
    return Gap(
        fragments={fragment: count for fragment, count in rows.items() if fragment not in known},
        fresh=False,
        empty_segments=[each for each in there.segments if not set(each.fragment_ids) & rows.keys()],
    )


def build(
    spark: "SparkSession",
    table: Table,
    spec: IndexSpec,
    *,
    job: str,
    progress: Progress = silent,
) -> Output:
    """Index all fragments that an index does not cover, and make the index if there is none.

    Raises:
        InvalidInput: the index cannot be built so.
        ConcurrentModification: others rewrote the fragments each time they were indexed.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(ConcurrentModification):
            return _built(spark, table, spec, job, progress)
    return _built(spark, table, spec, job, progress)


def merge(table: Table, name: str) -> int:
    """Make one segment of all segments of an index, on the driver; the version that has it."""
    dataset = table.dataset()
    count = next(len(each.segments) for each in indexes_of(dataset) if each.name == name)
    with native_errors(f"merging the segments of index {name} of {table}"):
        dataset.optimize.optimize_indices(num_indices_to_merge=count, index_names=[name])
    return int(table.dataset().version)


def _plain(type: str) -> str:
    return type.upper().replace("_", "")


def _built(spark: "SparkSession", table: Table, spec: IndexSpec, job: str, progress: Progress) -> Output:
    dataset = table.dataset()
    lacking = gap(dataset, spec)
    about = {"index": spec.called, "type": spec.type, "column": spec.column}
    found = Output(
        name=table.name,
        location=dataset.uri,
        read_version=int(dataset.version),
        rows=lacking.rows,
        fragments=len(lacking.fragments),
        details={**about, "segments": 0},
    )
    if not lacking.rows:
        return attrs.evolve(found, again=not lacking.fresh)
    if spec.type in ONE_MODEL and not lacking.fresh:
        return _extended(table, dataset, spec, found)
    groups = _groups(lacking.fragments, 1 if "SQ" in spec.type else spark.sparkContext.defaultParallelism)
    params = {**spec.params, **_trained(dataset, spec, lacking.rows)}
    counter = Counter(progress, "index", f"{table} {spec.called}", len(groups), "segments")
    made = tasks.run(
        spark,
        f"index {spec.called} of {table}",
        _segment,
        [_Segment(table, int(dataset.version), spec, params, group) for group in groups],
        arrived=lambda number, _: counter.add(number, rows=sum(lacking.fragments[each] for each in groups[number])),
    )
    with native_errors(f"committing index {spec.called} of {table}"):
        if spec.type == "INVERTED":  # its segments are not whole before they are merged
            made = [dataset.merge_existing_index_segments(made)]
        version = _committed(table, dataset, spec, made, lacking, job)
    return attrs.evolve(found, version=version, details={**about, "segments": len(made)})


@attrs.frozen
class _Segment:
    table: Table
    version: int
    spec: IndexSpec
    params: Mapping[str, Any]
    fragments: Sequence[int]


def _segment(part: _Segment) -> Any:
    """In a task: write one segment."""
    dataset = dataset_at(part.table, part.version)
    with native_errors(f"indexing {part.spec.column} of {part.table}"):
        return dataset.create_index_uncommitted(
            part.spec.column,
            part.spec.type,
            name=part.spec.called,
            fragment_ids=list(part.fragments),
            replace=True,  # only says that the name may be taken: nothing is replaced before the commit
            **part.params,
        )


def _committed(
    table: Table, dataset: "lance.LanceDataset", spec: IndexSpec, made: list[Any], lacking: Gap, job: str
) -> int:
    import lance

    now = table.dataset()
    if gap(now, spec).fragments.keys() & lacking.fragments.keys() != lacking.fragments.keys():
        raise ConcurrentModification(f"{table} was indexed or compacted by others meanwhile", identifier=table.id)
    gone = [_as_index(each, spec, made[0].fields) for each in lacking.empty_segments]
    transaction = lance.Transaction(
        int(dataset.version),
        lance.LanceOperation.CreateIndex(made, gone),
        transaction_properties={commits.JOB: f"{job}/index/{spec.called}"},
    )
    place = table.place()
    committed = lance.LanceDataset.commit(place.location, transaction, storage_options=dict(place.storage))
    return int(committed.version)


def _as_index(segment: Any, spec: IndexSpec, fields: list[int]) -> Any:
    from lance.dataset import Index

    return Index(
        uuid=segment.uuid,
        name=spec.called,
        fields=fields,
        dataset_version=segment.dataset_version_at_last_update,
        fragment_ids=segment.fragment_ids,
        index_version=segment.index_version,
    )


def _extended(table: Table, dataset: "lance.LanceDataset", spec: IndexSpec, found: Output) -> Output:
    """Add rows by the tokenizer or the model that the index has: pylance does that in one process, here the driver."""
    with native_errors(f"extending index {spec.called} of {table}"):
        dataset.optimize.optimize_indices(num_indices_to_merge=0, index_names=[spec.called])
    return attrs.evolve(found, version=int(table.dataset().version), details={**found.details, "segments": 1})


def _groups(fragments: Mapping[int, int], most: int) -> list[list[int]]:
    """Fragments side by side, in groups of about as many rows."""
    total = sum(fragments.values())
    count = max(1, min(most, len(fragments), total // ROWS_PER_SEGMENT))
    groups: list[list[int]] = [[] for _ in range(count)]
    before = 0
    for fragment, rows in sorted(fragments.items()):
        groups[min(before * count // total, count - 1)].append(fragment)
        before += rows
    return [group for group in groups if group]


def _trained(dataset: "lance.LanceDataset", spec: IndexSpec, rows: int) -> dict[str, Any]:
    """The model of a vector index, for all its segments alike."""
    if spec.type not in VECTOR:
        return {}
    from lance.indices import IndicesBuilder
    from lance.lance import indices

    partitions = int(spec.params.get("num_partitions") or max(1, round(rows**0.5 / 2)))
    bits = int(spec.params.get("num_bits", 8))
    with native_errors(f"training index {spec.called}"):
        builder = IndicesBuilder(dataset, spec.column)
        metric = str(spec.params.get("metric", "L2")).lower()
        rate = _sample_rate(spec, rows, partitions, "partitions")
        ivf = builder.train_ivf(partitions, distance_type=metric, sample_rate=rate)
        model: dict[str, Any] = {"ivf_centroids": ivf.centroids, "num_partitions": partitions}
        if "PQ" in spec.type:
            rate = _sample_rate(spec, rows, 1 << bits, "codes")
            pq = builder.train_pq(ivf, spec.params.get("num_sub_vectors"), sample_rate=rate, num_bits=bits)
            model |= {"pq_codebook": pq.codebook, "num_sub_vectors": pq.num_subvectors}
        if spec.type == "IVF_RQ":
            dimension = dataset.schema.field(spec.column).type.list_size
            model["rabitq_model"] = indices.build_rq_model(dimension, int(spec.params.get("num_bits", 5)))
    return model


def _sample_rate(spec: IndexSpec, rows: int, count: int, what: str) -> int:
    """How many rows training looks at for each partition or code: as pylance does, or as many as there are."""
    if rows < 2 * count:
        raise InvalidInput(
            f"{rows} rows are too few to train {count} {what} of index {spec.called!r}",
            hint="write more rows first, lower num_partitions, or choose IVF_FLAT",
        )
    return min(256, rows // count)
