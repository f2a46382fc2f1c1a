"""What the basic operations can build, built once for all backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from lance_ns import models as m
from lance_ns.capabilities import lacking
from lance_ns.errors import Internal, InvalidInput, LanceNsError, TableVersionNotFound
from lance_ns.identifiers import Levels
from lance_ns.paging import page_of_names, side_by_side

if TYPE_CHECKING:
    from lance_ns.namespace import Namespace
    from lance_ns.paging import Listing

R = TypeVar("R", bound=m.Response)
Q = TypeVar("Q", bound=m.Request[Any])


def serve(ns: Namespace, request: m.Request[R]) -> R:
    """The answer to a request: the backend's own, or built from its basic operations."""
    try:
        build = _BUILDERS.get(request.operation)
        if build is None or lacking(request, ns.capabilities) is None:
            return ns.call(request)
        return cast("R", build(ns, request))
    except LanceNsError as error:
        ns.locate(error)
        raise


def every_name(ns: Namespace, request: Listing) -> Iterator[str]:
    """All names of a listing, page after page."""
    while True:
        page = _page(ns, request)
        yield from page.namespaces if isinstance(page, m.ListNamespacesResponse) else page.tables
        if page.page_token is None:
            return
        if page.page_token == request.page_token:
            raise Internal("the listing does not advance: a page names itself as the next one", backend=ns.backend)
        request = attrs.evolve(request, page_token=page.page_token)


def _page(ns: Namespace, request: Listing) -> Any:
    try:
        return serve(ns, request)  # type: ignore[misc]  # one of the two responses
    except InvalidInput as error:
        if request.page_token is None:
            raise
        raise Internal(f"the catalog refused the token of its own page: {error.message}", backend=ns.backend) from error


def walk(ns: Namespace, request: m.ListTablesRequest) -> Iterator[Levels]:
    """Every table below a namespace, depth first: the tables of a namespace before its child namespaces."""
    parent = request.id
    children, tables = contents(ns, request)
    yield from ((*parent, table) for table in tables)
    for child in children:
        yield from walk(ns, attrs.evolve(request, id=(*parent, child)))


def contents(ns: Namespace, request: m.ListTablesRequest) -> tuple[list[str], Iterator[str]]:
    """The child namespaces and the tables of a namespace.

    Catalogs of a fixed depth have no tables at some levels and no namespaces at others; an identifier that is wrong for
    both is an error.
    """
    try:
        children, refusal = list(every_name(ns, _same_call(request, m.ListNamespacesRequest))), None
    except InvalidInput as error:
        children, refusal = [], error
    return children, _tables(every_name(ns, request), refusal)


def _tables(names: Iterator[str], refusal: InvalidInput | None) -> Iterator[str]:
    """The names, or none if the first page says that there are no tables at this depth."""
    try:
        first = next(names, None)
    except InvalidInput:
        if refusal is not None:
            raise refusal from None
        return
    if first is not None:
        yield first
        yield from names


def _namespace_exists(ns: Namespace, request: m.NamespaceExistsRequest) -> m.NamespaceExistsResponse:
    ns.call(_same_call(request, m.DescribeNamespaceRequest))
    return m.NamespaceExistsResponse()


def _table_exists(ns: Namespace, request: m.TableExistsRequest) -> m.TableExistsResponse:
    described = ns.call(_same_call(request, m.DescribeTableRequest))
    if request.version is not None:
        _look_into(ns, described, request.version)
    return m.TableExistsResponse()


def _list_all_tables(ns: Namespace, request: m.ListAllTablesRequest) -> m.ListTablesResponse:
    everything = attrs.evolve(_same_call(request, m.ListTablesRequest), include_declared=request.include_declared)
    names, token = page_of_names(ns.backend, request, ("$".join(table) for table in walk(ns, everything)))
    return m.ListTablesResponse(tables=names, page_token=token)


def _list_tables(ns: Namespace, request: m.ListTablesRequest) -> m.ListTablesResponse:
    """A page without the tables that are only declared: their storage is looked at, some side by side."""
    from lance_ns.lance import datasets

    page = ns.call(attrs.evolve(request, include_declared=True))

    def with_data(name: str) -> bool:
        described = ns.call(attrs.evolve(_same_call(request, m.DescribeTableRequest), id=(*request.id, name)))
        return datasets.has_data(ns, described)

    kept = [name for name, keep in zip(page.tables, side_by_side(with_data, page.tables), strict=True) if keep]
    return attrs.evolve(page, tables=kept)


def _describe_table(ns: Namespace, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
    """The catalog's answer, with what pylance finds at the location where that was asked for."""
    plain = attrs.evolve(
        request,
        version=None,
        with_table_uri=False,
        load_detailed_metadata=False,
        check_declared=False,
        with_columns=request.with_columns or request.load_detailed_metadata,
    )
    described = ns.call(plain)
    if request.with_table_uri:
        described = attrs.evolve(described, table_uri=described.location)
    if request.load_detailed_metadata or request.version is not None:
        return _look_into(ns, described, request.version)
    if request.check_declared:
        from lance_ns.lance import datasets

        return attrs.evolve(described, is_only_declared=not datasets.has_data(ns, described))
    return described


def _look_into(ns: Namespace, described: m.DescribeTableResponse, version: int | None) -> m.DescribeTableResponse:
    from lance_ns.lance import datasets

    detailed = datasets.with_details(ns, described, version)
    if detailed.is_only_declared and version is not None:
        raise TableVersionNotFound(f"the table has no version {version}: it has no data yet")
    return detailed


def _drop_table(ns: Namespace, request: m.DropTableRequest) -> m.DropTableResponse:
    """Deregister, then delete the data if that was asked for.

    What is no Lance dataset is left alone.
    """
    delete: Callable[[], None] | None = None
    if request.delete_data:
        from lance_ns.lance import datasets

        delete = datasets.deletion(ns, ns.call(_same_call(request, m.DescribeTableRequest)))
    deregistered = ns.call(_same_call(request, m.DeregisterTableRequest))
    if delete is not None:
        delete()
    return m.DropTableResponse(
        id=request.id,
        location=deregistered.location,
        properties=deregistered.properties,
        transaction_id=deregistered.transaction_id,
    )


def _same_call(request: m.Request[Any], kind: type[Q]) -> Q:
    """Another request about the same thing, by the same caller."""
    return kind(id=request.id, identity=request.identity, context=request.context)


_BUILDERS: dict[str, Callable[[Namespace, Any], m.Response]] = {
    "namespace_exists": _namespace_exists,
    "table_exists": _table_exists,
    "list_all_tables": _list_all_tables,
    "list_tables": _list_tables,
    "describe_table": _describe_table,
    "drop_table": _drop_table,
}
