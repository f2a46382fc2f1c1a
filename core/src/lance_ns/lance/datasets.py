"""Tables as Lance datasets: opening, writing, looking into and deleting what is at a table's location."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns import models as m
from lance_ns.config import Hidden, StorageOptions, holds_credentials
from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    InvalidTableState,
    LanceNsError,
    TableAlreadyExists,
    TableVersionNotFound,
)
from lance_ns.identifiers import Levels
from lance_ns.lance.errors import pylance_errors

if TYPE_CHECKING:
    import lance

    from lance_ns.namespace import Namespace

EXPIRES = "expires_at_millis"
_REDIRECTING = ("endpoint", "proxy", "allow_http", "allow_invalid", "virtual_hosted", "url")
_COMMIT_OPTIONS = {"commit_message", "commit_timeout", "commit_lock", "enable_v2_manifest_paths"}
Described = m.DescribeTableResponse | m.DeclareTableResponse


def open_table(ns: "Namespace", id: Levels, version: int | str | None, options: Hidden) -> "lance.LanceDataset":
    """Open a table that has data."""
    described = ns.call(m.DescribeTableRequest(id=id))
    try:
        return _opened(ns, id, described, version, options)
    except InvalidTableState as error:
        raise InvalidTableState(
            f"table {ns.show(id)} has no data at {described.location}",
            identifier=id,
            native=error.native,
            hint="it is declared only: `write` it first",
        ) from error


def write_table(
    ns: "Namespace",
    id: Levels,
    data: Any,
    mode: str,
    location: str | None,
    properties: Mapping[str, str] | None,
    options: Hidden,
) -> "lance.LanceDataset":
    """Write a table; see `Namespace.write` for what each mode does in each state of the table."""
    if mode not in ("create", "append", "overwrite"):
        raise InvalidInput(f"{mode!r} is not a write mode", hint="choose one of create, append, overwrite")
    if mode != "append":
        try:
            return _create_new(ns, id, data, location, properties, options)
        except TableAlreadyExists as error:
            if error.operation != "declare_table":
                raise
    described = ns.call(m.DescribeTableRequest(id=id))
    if not has_data(ns, described):
        return _first_version(
            ns, id, data, described, options, late=ConcurrentModification if mode == "append" else None
        )
    if mode == "create":
        raise TableAlreadyExists(
            f"table {ns.show(id)} already has data",
            identifier=id,
            hint="mode='append' or mode='overwrite' adds a version",
        )
    return _next_version(ns, id, data, described, mode, options)


def has_data(ns: "Namespace", described: Described) -> bool:
    """Whether there is a Lance dataset at a table's location.

    An error of the storage is raised, never taken for a no.
    """
    try:
        _opened(ns, (), described, None, Hidden())
    except InvalidTableState:
        return False
    return True


def with_details(ns: "Namespace", described: m.DescribeTableResponse, version: int | None) -> m.DescribeTableResponse:
    """A description with what the dataset itself tells: version, URI, schema, stats, and whether there is one."""
    from lance_ns.lance.schema import to_json

    try:
        dataset = _opened(ns, (), described, version, Hidden())
    except InvalidTableState:
        return attrs.evolve(described, is_only_declared=True)
    with pylance_errors("reading the table's metadata"):
        stats = dataset.stats.dataset_stats()
        return attrs.evolve(
            described,
            version=dataset.version,
            table_uri=described.location,
            schema=to_json(dataset.schema),
            stats=m.TableBasicStats(num_deleted_rows=stats["num_deleted_rows"], num_fragments=stats["num_fragments"]),
            is_only_declared=False,
        )


def deletion(ns: "Namespace", described: m.DescribeTableResponse) -> Callable[[], None]:
    """What deletes a table's data, made before the table is deregistered so that storage that fails stops everything.

    What is no Lance dataset is left alone.
    """
    location = location_of(described)
    options = storage_options(ns.storage, described.storage_options)
    if not has_data(ns, described):
        return lambda: None

    def delete() -> None:
        import lance

        with pylance_errors(f"deleting the data at {location}"):
            lance.LanceDataset.drop(location, storage_options=options)

    return delete


def storage_options(own: Mapping[str, str], answered: Mapping[str, str] | None) -> StorageOptions:
    """The options to open a table with: those that the catalog answered, under the connection's own.

    A table's properties are written by whoever may edit the table. Where the connection's own options hold
    credentials, they must not be sent to an endpoint or proxy, or in the clear, because a table says so.
    """
    answered = answered or {}
    if holds_credentials(own):
        answered = StorageOptions(
            {
                key: value
                for key, value in answered.items()
                if key in own or not any(word in key.lower() for word in _REDIRECTING)
            }
        )
    return StorageOptions({**answered, **own})


def _target(ns: "Namespace", described: Described, options: Hidden) -> tuple[StorageOptions, Hidden]:
    """The storage options of a call, its own on top, and its other options."""
    others = Hidden({key: value for key, value in options.items() if key != "storage_options"})
    return storage_options(ns.storage, described.storage_options) | (options.get("storage_options") or {}), others


def location_of(described: Described) -> str:
    """Where a described or declared table is."""
    if not described.location:
        raise Internal("the catalog knows no location for this table", hint="the entry is broken: register it again")
    return described.location


def _opened(
    ns: "Namespace", id: Levels, described: Described, version: int | str | None, options: Hidden
) -> "lance.LanceDataset":
    import lance

    location = location_of(described)
    merged, options = _target(ns, described, options)
    with pylance_errors(f"opening {location}"):
        try:
            if id and EXPIRES in merged:  # vended credentials: pylance asks the catalog again before they expire
                return lance.dataset(namespace_client=ns.as_lance(), table_id=list(id), version=version, **options)
            return lance.dataset(location, version=version, storage_options=merged, **options)
        except ValueError as error:
            if isinstance(version, int) and "was not found" in str(error) and _exists(lance, location, merged):
                raise TableVersionNotFound(f"the table has no version {version}", native="ValueError") from error
            raise


def _exists(lance: Any, location: str, options: dict[str, str]) -> bool:
    try:
        lance.dataset(location, storage_options=options)
    except ValueError:
        return False
    return True


def _create_new(
    ns: "Namespace",
    id: Levels,
    data: Any,
    location: str | None,
    properties: Mapping[str, str] | None,
    options: Hidden,
) -> "lance.LanceDataset":
    """Declare a table, then write it. The catalog's declare decides which of several writers creates it."""
    declared = ns.call(m.DeclareTableRequest(id=id, location=location, properties=properties, schema=_schema_of(data)))
    try:
        return _first_version(ns, id, data, declared, options, late=None)
    except BaseException as error:
        _undeclare(ns, id, declared, error)
        raise


def _undeclare(ns: "Namespace", id: Levels, declared: m.DeclareTableResponse, error: BaseException) -> None:
    """A create that failed leaves no entry behind, unless there is data at its location, which needs one."""
    try:
        if not has_data(ns, declared):
            ns.call(m.DeregisterTableRequest(id=id))
    except LanceNsError as second:
        error.add_note(f"the table stays declared, for deregistering it failed too: {second}")


def _first_version(
    ns: "Namespace",
    id: Levels,
    data: Any,
    declared: Described,
    options: Hidden,
    *,
    late: type[LanceNsError] | None,
) -> "lance.LanceDataset":
    """Write version 1, or fail when there is one.

    pylance's own create is not exclusive: of several at once, later ones overwrite the first. Writing the files first
    and committing them once, without retries, is.
    """
    import lance

    location = location_of(declared)
    target, options = _target(ns, declared, options)
    committing = {key: options[key] for key in options.keys() & _COMMIT_OPTIONS}
    writing = {key: value for key, value in options.items() if key not in _COMMIT_OPTIONS}
    stable = {"enable_stable_row_ids": options["enable_stable_row_ids"]} if "enable_stable_row_ids" in options else {}
    try:
        with pylance_errors(f"writing {location}"):
            transaction = lance.fragment.write_fragments(
                data, location, mode="create", return_transaction=True, storage_options=target, **writing
            )
            return lance.LanceDataset.commit(
                location, transaction, max_retries=0, storage_options=target, **stable, **committing
            )
    except (TableAlreadyExists, TableVersionNotFound, ConcurrentModification) as error:
        # A commit of version 1 that comes second fails by one of several texts, all of which mean this.
        kind = late or TableAlreadyExists
        raise kind(
            f"another writer created the data of table {ns.show(id)} first",
            identifier=id,
            hint="write again" if late else "mode='append' or mode='overwrite' adds a version",
        ) from error


def _next_version(
    ns: "Namespace", id: Levels, data: Any, described: m.DescribeTableResponse, mode: str, options: Hidden
) -> "lance.LanceDataset":
    import lance

    location = location_of(described)
    target, options = _target(ns, described, options)
    with pylance_errors(f"writing table {ns.show(id)}"):
        return lance.write_dataset(data, location, mode=mode, storage_options=target, **options)


def _schema_of(data: Any) -> Any:
    """The Arrow schema of data that carries one; for other data the catalog learns none."""
    import pyarrow as pa

    schema = getattr(data, "schema", None)
    return schema if isinstance(schema, pa.Schema) else None
