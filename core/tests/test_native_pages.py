"""Pages that are made of a catalog's own pages."""

import pytest

from lance_ns.errors import Internal, InvalidInput
from lance_ns.models import ListTablesRequest
from lance_ns.paging import page_of_pages

SIZE = 4


class Catalog:
    """Gives names in pages of at most four, in its own order; those that begin with `x` do not belong there."""

    def __init__(self, *names: str, empty_last_page: bool = False) -> None:
        self.names = list(names)
        self.asked: list[int] = []
        self._empty_last_page = empty_last_page

    def page(self, native: str | None, wanted: int) -> tuple[list[tuple[str, bool]], str | None]:
        self.asked.append(wanted)
        begin = 0 if native is None else self.names.index(native) + 1
        names = self.names[begin : begin + min(wanted, SIZE)]
        more = self.names[begin + len(names) :] or (self._empty_last_page and len(names) == min(wanted, SIZE))
        return [(name, not name.startswith("x")) for name in names], names[-1] if names and more else None

    def listed(self, limit: int | None, token: str | None = None) -> tuple[list[str], str | None]:
        request = ListTablesRequest(id=["n"], limit=limit, page_token=token)
        return page_of_pages("test", request, SIZE, self.page)

    def pages(self, limit: int | None) -> list[list[str]]:
        page, token = self.listed(limit)
        pages = [page]
        while token is not None:
            page, token = self.listed(limit, token)
            pages.append(page)
        return pages


MIXED = ("a", "x1", "x2", "x3", "x4", "b", "x5", "c", "d", "e", "x6", "f", "x7", "x8", "g")
OWN = ["a", "b", "c", "d", "e", "f", "g"]


@pytest.mark.parametrize("limit", [None, 1, 2, 3, 4, 5, 7, 100])
@pytest.mark.parametrize("empty_last_page", [False, True])
@pytest.mark.parametrize("names", [MIXED, MIXED[::-1], OWN, (), ("x1",)], ids=["mixed", "unsorted", "own", "none", "x"])
def test_pages_of_every_size_cover_all_that_belongs_exactly_once(names, limit, empty_last_page):
    pages = Catalog(*names, empty_last_page=empty_last_page).pages(limit)

    assert sorted(name for page in pages for name in page) == sorted(name for name in names if not name.startswith("x"))
    assert all(len(page) <= (limit or SIZE) for page in pages)
    assert all(page == sorted(page) for page in pages)


def test_a_page_asks_for_no_more_entries_than_it_needs_as_long_as_all_belong():
    catalog = Catalog(*OWN)

    assert catalog.listed(2)[0] == ["a", "b"]
    assert catalog.asked == [2]


def test_entries_that_do_not_belong_are_passed_in_large_steps():
    catalog = Catalog("x1", "x2", "x3", "x4", "x5", "a", "b")

    assert catalog.listed(1)[0] == ["a"]
    assert catalog.asked == [1, SIZE, SIZE]


def test_a_listing_without_a_limit_holds_one_page_of_the_catalogs_at_a_time():
    pages = Catalog(*[f"t{number:03}" for number in range(40)]).pages(None)

    assert [len(page) for page in pages] == [SIZE] * 10


def test_a_page_that_ended_within_one_of_the_catalogs_goes_on_there_when_the_name_is_gone():
    catalog = Catalog("x1", "a", "b", "c", "d", "e")
    page, token = catalog.listed(2)
    assert page == ["a", "b"]

    catalog.names.remove("b")

    assert catalog.listed(2, token)[0] == ["c", "d"]


def test_a_catalog_whose_pages_do_not_advance_is_an_error():
    request = ListTablesRequest(id=["n"])

    with pytest.raises(Internal, match="does not advance"):
        page_of_pages("test", request, SIZE, lambda native, wanted: ([("x", False)], "again"))


def test_a_token_of_another_backend_is_refused():
    token = Catalog(*OWN).listed(2)[1]

    with pytest.raises(InvalidInput, match="is of backend 'test'"):
        page_of_pages("other", ListTablesRequest(id=["n"], page_token=token), SIZE, Catalog(*OWN).page)
