"""Pages: every size, tokens that hold all their state, and nothing wrong taken for an end."""

from collections.abc import Callable
from typing import Any

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.models import ListNamespacesRequest, ListTablesRequest
from lance_ns.namespace import Namespace
from lance_ns.paging import Position
from lance_ns.paging import token as token_of
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World

NAMES = [f"t{number}" for number in range(5)]


def filled(ns: Namespace, world: World) -> Levels:
    """A namespace with five tables."""
    id = world.created(ns)
    for name in NAMES:
        ns.declare_table((*id, name))
    return id


def with_children(ns: Namespace, world: World) -> Levels:
    """A namespace with five namespaces in it."""
    id = world.created(ns)
    for name in NAMES:
        ns.create_namespace((*id, name))
    return id


def following(ask: Callable[..., Any], id: Levels, limit: int, token: str | None) -> list[str]:
    """All names of the pages from a token on; None is the end."""
    names: list[str] = []
    for _ in range(1000):
        if token is None:
            return names
        page = ask(id, limit=limit, page_token=token)
        found = page.tables if hasattr(page, "tables") else page.namespaces
        assert len(found) <= limit, f"a page of at most {limit} holds {len(found)}"
        names += found
        token = page.page_token
    raise AssertionError("the pages do not end")


def pages(ask: Callable[..., Any], id: Levels, limit: int) -> list[str]:
    """All names, page by page."""
    first = ask(id, limit=limit)
    found = first.tables if hasattr(first, "tables") else first.namespaces
    assert len(found) <= limit, f"a page of at most {limit} holds {len(found)}"
    return [*found, *following(ask, id, limit, first.page_token)]


@scenario(
    "pages of tables of every size cover all names exactly once",
    clauses=[
        "contract.paging.1",
        "contract.paging.2",
        "contract.paging.4",
        "contract.names-in-lists.5",
        "hive3.list-tables.steps.4",
    ],
    dialect=True,
)
def table_pages(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    for limit in range(1, len(NAMES) + 2):
        assert sorted(pages(ns.list_tables_page, id, limit)) == NAMES, f"pages of {limit}"


@scenario(
    "pages of namespaces of every size cover all names exactly once",
    clauses=["contract.paging.1", "contract.paging.2", "contract.names-in-lists.5"],
    dialect=True,
)
def namespace_pages(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    for limit in range(1, len(NAMES) + 2):
        assert sorted(pages(ns.list_namespaces_page, id, limit)) == NAMES, f"pages of {limit}"


@scenario("a token survives a new connection", clauses=["contract.paging.5"], dialect=True)
def token_survives(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=2)
    assert first.page_token is not None, "five tables do not fit into a page of two"
    with world.connect() as other:
        rest = following(other.list_tables_page, id, 2, first.page_token)
    assert sorted([*first.tables, *rest]) == NAMES


@scenario("the last page has no token", clauses=["contract.paging.4"], dialect=True)
def last_page(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    assert ns.list_tables_page(id, limit=100).page_token is None


@scenario(
    "a table declared between two pages makes no other one repeat or vanish",
    clauses=["contract.paging.11"],
    dialect=True,
)
def declared_between(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=2)
    ns.declare_table((*id, "t1a"))
    rest = following(ns.list_tables_page, id, 2, first.page_token)
    names = [*first.tables, *rest]
    assert len(names) == len(set(names)), "a table came twice"
    assert set(NAMES) <= set(names), "a table was left out"


@scenario("a table deregistered between two pages makes no other one vanish", clauses=["contract.paging.11"])
def deregistered_between(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=2)
    ns.deregister_table((*id, first.tables[-1]))
    rest = following(ns.list_tables_page, id, 2, first.page_token)
    assert set(NAMES) <= {*first.tables, *rest}


@scenario(
    "a token that is none of this backend's answers InvalidInput, never an empty page", clauses=["contract.paging.10"]
)
def foreign_token(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    for token in ("junk", "t1", "AAAA", "1", "ü"):
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_tables_page(id, page_token=token)


@scenario("an altered token answers InvalidInput", clauses=["contract.paging.10"])
def altered_token(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    token = ns.list_tables_page(id, limit=2).page_token or ""
    for altered in (token[:-1], token + "A", token[::-1], token.swapcase()):
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_tables_page(id, page_token=altered)


@scenario("a token of another listing answers InvalidInput", clauses=["contract.paging.7", "contract.paging.8"])
def token_of_another(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    other = world.created(ns, "other")
    token = ns.list_tables_page(id, limit=2).page_token
    with raises(ErrorCode.INVALID_INPUT):
        ns.list_tables_page(other, page_token=token)
    if world.child_possible():
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_namespaces_page(id, page_token=token)


@scenario("a limit below one answers InvalidInput", clauses=["contract.limits.1"])
def bad_limit(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    for limit in (0, -1):
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_tables_page(id, limit=limit)


@scenario("the iterator follows the pages to their end", clauses=["contract.paging.13"])
def iterator(ns: Namespace, world: World) -> None:
    assert sorted(ns.list_tables(filled(ns, world))) == NAMES


@scenario("a token used twice gives the same page", clauses=["contract.paging.6"])
def token_twice(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    token = ns.list_tables_page(id, limit=2).page_token
    first, second = (ns.list_tables_page(id, limit=2, page_token=token) for _ in range(2))
    assert list(first.tables) == list(second.tables)


@scenario("an empty token asks for the first page", clauses=["contract.paging.12"])
def empty_token(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    assert ns.list_tables_page(id, limit=2, page_token="").tables == ns.list_tables_page(id, limit=2).tables


@scenario(
    "the size of the page may change from one page to the next",
    clauses=["contract.paging.1", "contract.paging.2"],
    dialect=True,
)
def another_size(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=1)
    second = ns.list_tables_page(id, limit=3, page_token=first.page_token)
    assert len(second.tables) <= 3
    names = [*first.tables, *second.tables, *following(ns.list_tables_page, id, 1, second.page_token)]
    assert sorted(names) == NAMES


@scenario("a token of another backend answers InvalidInput", clauses=["contract.paging.9"])
def token_of_another_backend(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    made = token_of("another", ListTablesRequest(id=id), Position(last=NAMES[1]))
    with raises(ErrorCode.INVALID_INPUT):
        ns.list_tables_page(id, page_token=made)


@scenario("a token of a listing of namespaces answers InvalidInput for tables", clauses=["contract.paging.8"])
def token_of_namespaces(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    token = ns.list_namespaces_page(id, limit=2).page_token
    assert token is not None, "five namespaces do not fit into a page of two"
    with raises(ErrorCode.INVALID_INPUT):
        ns.list_tables_page(id, page_token=token)


@scenario("a limit that is no whole number answers InvalidInput", clauses=["contract.limits.2"])
def no_number(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    wrong: list[Any] = ["2", 1.5, True, [1]]
    for limit in wrong:
        for ask in (ns.list_tables_page, ns.list_namespaces_page):
            with raises(ErrorCode.INVALID_INPUT):
                ask(id, limit=limit)


@scenario("a limit below one answers InvalidInput for namespaces too", clauses=["contract.limits.1"])
def bad_limit_of_namespaces(ns: Namespace, world: World) -> None:
    for limit in (0, -1):
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_namespaces_page(world.expect.base, limit=limit)


@scenario("a limit far above the number of names gives all of them", clauses=["contract.limits.3"])
def large_limit(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    assert sorted(pages(ns.list_tables_page, id, 1_000_000)) == NAMES


@scenario("a page of namespaces without a limit ends the listing or has a token", clauses=["contract.limits.4"])
def unlimited_namespaces(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    page = ns.call(ListNamespacesRequest(id=id))
    names = list(page.namespaces)
    while page.page_token is not None:
        page = ns.call(ListNamespacesRequest(id=id, page_token=page.page_token))
        names += page.namespaces
    assert sorted(names) == NAMES


@scenario("a token of namespaces survives a new connection", clauses=["contract.paging.5"])
def namespace_token_survives(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    first = ns.list_namespaces_page(id, limit=2)
    with world.connect() as other:
        rest = following(other.list_namespaces_page, id, 2, first.page_token)
    assert sorted([*first.namespaces, *rest]) == NAMES


@scenario("a token that is none of this backend's answers InvalidInput for namespaces", clauses=["contract.paging.10"])
def foreign_token_of_namespaces(ns: Namespace, world: World) -> None:
    for token in ("junk", "t1", "AAAA", "1", "ü"):
        with raises(ErrorCode.INVALID_INPUT):
            ns.list_namespaces_page(world.expect.base, page_token=token)


@scenario("a namespace created between two pages makes no other one repeat or vanish", clauses=["contract.paging.11"])
def namespace_created_between(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    first = ns.list_namespaces_page(id, limit=2)
    ns.create_namespace((*id, "a0"))
    names = [*first.namespaces, *following(ns.list_namespaces_page, id, 2, first.page_token)]
    assert len(names) == len(set(names)), "a namespace came twice"
    assert set(NAMES) <= set(names), "a namespace was left out"


@scenario("a namespace dropped between two pages makes no other one vanish", clauses=["contract.paging.11"])
def namespace_dropped_between(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = with_children(ns, world)
    first = ns.list_namespaces_page(id, limit=2)
    ns.drop_namespace((*id, first.namespaces[0]))
    rest = following(ns.list_namespaces_page, id, 2, first.page_token)
    assert set(NAMES) <= {*first.namespaces, *rest}


@scenario(
    "tables declared before and after the place of a token make no other one repeat or vanish",
    clauses=["contract.paging.11"],
)
def declared_around(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=2)
    for name in ("a0", "z9"):
        ns.declare_table((*id, name))
    names = [*first.tables, *following(ns.list_tables_page, id, 2, first.page_token)]
    assert len(names) == len(set(names)), "a table came twice"
    assert set(NAMES) <= set(names), "a table was left out"


@scenario(
    "a listing ends without an error when what follows its token is gone", clauses=["contract.paging.11"], dialect=True
)
def rest_is_gone(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    first = ns.list_tables_page(id, limit=2)
    for name in sorted(set(NAMES) - set(first.tables)):
        ns.deregister_table((*id, name))
    assert following(ns.list_tables_page, id, 2, first.page_token) == []


@scenario("tables may be deregistered while they are listed", clauses=["contract.paging.13"])
def deregistered_while_listed(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    seen = []
    for name in ns.list_tables(id):
        ns.deregister_table((*id, name))
        seen.append(name)
    assert sorted(seen) == NAMES
    assert list(ns.list_tables(id)) == []


@scenario("the iterator over namespaces follows the pages to their end", clauses=["contract.paging.13"])
def namespace_iterator(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    assert sorted(ns.list_namespaces(with_children(ns, world))) == NAMES


@scenario(
    "one page of a missing namespace answers NamespaceNotFound", clauses=["contract.names-in-lists.7"], dialect=True
)
def page_of_missing(ns: Namespace, world: World) -> None:
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        ns.list_tables_page(world.namespace("absent"), limit=1)


@scenario(
    "a namespace that is dropped between two pages answers NamespaceNotFound, never an end",
    clauses=["contract.names-in-lists.7"],
    dialect=True,
)
def dropped_between(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    token = ns.list_tables_page(id, limit=2).page_token
    for name in NAMES:
        ns.deregister_table((*id, name))
    ns.drop_namespace(id)
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        ns.list_tables_page(id, limit=2, page_token=token)


@scenario(
    "pages without the tables that are only declared cover those with data exactly once",
    clauses=["contract.declared-or-with-data.3", "contract.paging.3"],
)
def pages_with_data(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    id = filled(ns, world)
    for name in ("t1", "t4"):
        ns.write((*id, name), pa.table({"id": [1]}))

    def ask(id: Levels, **options: Any) -> Any:
        return ns.list_tables_page(id, include_declared=False, **options)

    for limit in (1, 2, 6):
        assert sorted(pages(ask, id, limit)) == ["t1", "t4"], f"pages of {limit}"
