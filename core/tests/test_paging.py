"""Tokens and pages: stateless, complete, in order, and refused when they are anybody else's."""

import base64
import json
import threading

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lance_ns import paging
from lance_ns.errors import InvalidInput
from lance_ns.models import ListAllTablesRequest, ListNamespacesRequest, ListTablesRequest
from lance_ns.paging import Position, page_of_names, position, side_by_side, token

LISTINGS = [ListNamespacesRequest, ListTablesRequest, ListAllTablesRequest]

name = st.text(min_size=1, max_size=30)
names = st.sets(name, max_size=40)
levels = st.lists(st.from_regex(r"[a-zé$./~ ]{1,10}", fullmatch=True).filter(lambda text: text.strip("."))).map(tuple)
positions = st.builds(Position, st.none() | st.text(), st.none() | st.text())


def pages(all_names, limit, kind=ListTablesRequest, id=("ml",)):
    """Every page of a listing, each asked for anew with nothing but the token of the one before."""
    given_token = None
    for _ in range(len(all_names) + 2):
        page, given_token = page_of_names("memory", kind(id=id, limit=limit, page_token=given_token), all_names)
        yield page
        if given_token is None:
            return
    raise AssertionError("the listing does not end")


# --- pages ---------------------------------------------------------------------------------------------------------


@given(names, st.none() | st.integers(1, 45))
def test_pages_of_every_size_cover_all_names_once_and_in_order(all_names, limit):
    listed = list(pages(all_names, limit))

    assert [each for page in listed for each in page] == sorted(all_names)
    assert all(len(page) == limit for page in listed[:-1])
    assert listed[-1] or not all_names, "no empty page at the end"


@given(names, st.integers(1, 10))
def test_a_catalog_that_repeats_names_is_listed_without_repetition(all_names, limit):
    repeated = [*all_names, *sorted(all_names, reverse=True)]

    assert [each for page in pages(repeated, limit) for each in page] == sorted(all_names)


@given(names, st.integers(1, 10), st.data())
def test_changes_between_pages_neither_repeat_nor_hide_a_name(all_names, limit, data):
    current, always, seen, given_token = set(all_names), set(all_names), [], None
    for _ in range(100):
        request = ListTablesRequest(id=["ml"], limit=limit, page_token=given_token)
        page, given_token = page_of_names("memory", request, current)
        seen += page
        if given_token is None:
            break
        current |= data.draw(st.sets(name, max_size=3))
        current -= data.draw(st.sets(st.sampled_from(sorted(current)), max_size=3))
        always &= current

    assert seen == sorted(set(seen))
    assert set(seen) >= always, "what was there all the time was listed"


def test_a_page_resumes_after_its_last_name_even_when_that_is_gone():
    page, next_token = page_of_names("memory", ListTablesRequest(limit=2), ["a", "b", "c", "d"])

    rest, _ = page_of_names("memory", ListTablesRequest(page_token=next_token), ["a", "aa", "c", "d"])

    assert (page, rest) == (["a", "b"], ["c", "d"])


@pytest.mark.parametrize("limit", [0, -1, -(2**63), True, 1.0, "1", [1]], ids=repr)
@pytest.mark.parametrize("kind", LISTINGS)
def test_a_limit_is_a_whole_number_of_at_least_one(kind, limit):
    with pytest.raises(InvalidInput, match="limit is"):
        kind(limit=limit)


# --- tokens --------------------------------------------------------------------------------------------------------


@given(positions, levels, st.sampled_from(LISTINGS))
def test_a_token_says_to_a_new_request_where_the_page_before_ended(where, id, kind):
    assert position("memory", kind(id=id, page_token=token("memory", kind(id=id), where))) == where


def test_a_token_survives_another_process(run_python):
    script = (
        "from lance_ns import models as m, paging\n"
        "print(paging.token('memory', m.ListTablesRequest(id=['ml']), paging.Position('näxt', 'dócs')))"
    )

    request = ListTablesRequest(id=["ml"], page_token=run_python(script).strip())

    assert position("memory", request) == Position("näxt", "dócs")


@pytest.mark.parametrize("nothing", [None, ""], ids=repr)
def test_no_token_is_the_first_page(nothing):
    assert position("memory", ListTablesRequest(page_token=nothing)) == Position()


@given(positions, levels)
def test_a_token_is_safe_in_a_url_and_a_shell(where, id):
    assert token("memory", ListTablesRequest(id=id), where).replace("-", "").replace("_", "").isalnum()


@given(st.data())
def test_a_token_with_any_character_changed_is_refused(data):
    made = token("memory", ListTablesRequest(id=["ml"]), data.draw(positions))
    at = data.draw(st.integers(0, len(made) - 1))
    other = data.draw(st.characters())
    assume(other != made[at])

    refused(made[:at] + other + made[at + 1 :])


@given(st.data())
def test_a_token_cut_short_or_made_longer_is_refused(data):
    made = token("memory", ListTablesRequest(id=["ml"]), data.draw(positions))

    refused(made[: data.draw(st.integers(1, len(made) - 1))])
    refused(made + data.draw(st.text(min_size=1)))
    refused(data.draw(st.text(min_size=1)) + made)


@given(st.text(min_size=1))
def test_what_never_was_a_token_is_refused(text):
    refused(text)


def test_the_bits_that_decoding_ignores_may_not_be_changed_either():
    """The last character of an unpadded token often holds bits that no decoder looks at."""
    for last in ("a", "ab", "abc"):
        made = token("memory", ListTablesRequest(id=["ml"]), Position(last=last))
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for other in set(alphabet) - {made[-1]}:
            refused(made[:-1] + other)


@pytest.mark.parametrize(
    "content",
    [
        None,
        5,
        "text",
        [],
        [1, "memory"],
        {"version": 1},
        [1, "memory", "listing", None, None],
        [2, "memory", "listing", None, None],
        [1, "memory", "LISTING", 5, None],
        [1, "memory", "LISTING", None, 5],
        [1, "memory", "LISTING", ["a"], {"b": 1}],
    ],
    ids=repr,
)
def test_a_well_made_token_with_other_content_is_refused(content):
    listing = paging._listing(ListTablesRequest(id=["ml"]))
    body = json.dumps(content).replace("LISTING", listing).encode()

    refused(base64.urlsafe_b64encode(paging._checksum(body) + body).decode().rstrip("="))


def refused(altered: str) -> None:
    with pytest.raises(InvalidInput, match="page token"):
        position("memory", ListTablesRequest(id=["ml"], page_token=altered))


def test_a_token_of_another_backend_is_refused_by_its_name():
    made = token("glue", ListTablesRequest(id=["ml"]), Position(last="a"))

    with pytest.raises(InvalidInput, match="is of backend 'glue'") as caught:
        position("memory", ListTablesRequest(id=["ml"], page_token=made))
    assert caught.value.hint == "start the listing again without a token"


@given(levels, levels)
def test_a_token_of_another_parent_is_refused(id, other):
    assume(id != other)
    made = token("memory", ListTablesRequest(id=id), Position(last="a"))

    with pytest.raises(InvalidInput, match="belongs to another listing"):
        position("memory", ListTablesRequest(id=other, page_token=made))


@pytest.mark.parametrize("other", LISTINGS)
@pytest.mark.parametrize("kind", LISTINGS)
def test_a_token_of_another_operation_is_refused(kind, other):
    made = token("memory", kind(id=["ml"]), Position(last="a"))
    request = other(id=["ml"], page_token=made)

    if kind is other:
        assert position("memory", request).last == "a"
    else:
        with pytest.raises(InvalidInput, match="belongs to another listing"):
            position("memory", request)


def test_a_token_of_another_format_is_refused_with_both_versions(monkeypatch):
    monkeypatch.setattr(paging, "_VERSION", 7)
    made = token("memory", ListTablesRequest(), Position())
    monkeypatch.undo()

    with pytest.raises(InvalidInput, match="has format 7, this version reads 1"):
        position("memory", ListTablesRequest(page_token=made))


# --- side by side --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("size", [0, 1, 7, 50])
def test_results_come_in_the_order_of_their_items(size, workers):
    assert side_by_side(lambda item: item * item, range(size), workers) == [item**2 for item in range(size)]


def test_as_many_calls_as_there_are_workers_run_at_once_and_never_more():
    workers, lock, running, peak = 4, threading.Lock(), 0, 0
    together = threading.Barrier(workers, timeout=60)  # passes only when four are under way at the same time

    def call(item):
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        if item < workers:
            together.wait()
        with lock:
            running -= 1
        return item

    assert side_by_side(call, range(40), workers) == list(range(40))
    assert peak == workers


def test_the_error_of_the_first_item_is_raised_whoever_fails_first():
    failed = threading.Event()

    def call(item):
        if item == 2:
            failed.wait(60)  # until the one behind it has failed
        if item == 3:
            failed.set()
        if item in (2, 3):
            raise ValueError(item)

    with pytest.raises(ValueError, match="2"):
        side_by_side(call, range(10), 4)


def test_after_an_error_the_rest_is_not_called():
    called = []

    def call(item):
        called.append(item)
        if item == 0:
            raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        side_by_side(call, range(100), 4)
    assert set(called) <= set(range(4))


def test_who_is_interrupted_lets_no_further_call_begin(monkeypatch):
    """The caller is interrupted while the first calls are under way, and they stay there until it has been."""
    from concurrent import futures

    interrupted, called = threading.Event(), []

    class Interrupting(futures.ThreadPoolExecutor):
        def submit(self, *arguments):
            future = super().submit(*arguments)
            monkeypatch.setattr(future, "result", interrupt)
            return future

        def shutdown(self, *arguments, **settings):
            interrupted.set()
            super().shutdown(*arguments, **settings)

    def interrupt():
        raise KeyboardInterrupt

    def call(item):
        called.append(item)
        interrupted.wait(60)

    monkeypatch.setattr(futures, "ThreadPoolExecutor", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(call, range(100), 4)

    assert set(called) <= set(range(4))
