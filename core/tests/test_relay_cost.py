"""What the way to the backend costs, counted in Python function calls: a regression shows without a clock."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lance_ns import models as m
from lance_ns.hookspecs import Operations, hookimpl
from lance_ns.middleware import around

REQUEST = m.DescribeTableRequest(id=["ml", "docs"])
SLACK = 1.1


class Instant(Operations):
    """Answers at once."""

    answer = m.DescribeTableResponse(location="/x")

    def __init__(self, config: Any) -> None:
        pass

    @hookimpl
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        return self.answer


def passing():
    """A wrapper of its own at every call: the same one twice is no middleware."""

    def wrapper(request):
        return (yield)

    return wrapper


def calls_of(function: Callable[..., Any], *arguments: Any) -> Counter[str]:
    """The Python functions that a call runs, itself included, once everything has been imported and cached."""
    function(*arguments)
    seen: Counter[str] = Counter()

    def note(frame, event, _):
        if event == "call":
            seen[f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return seen


@pytest.fixture
def connect(memory):
    def connected(**settings):
        return memory.connect(factory=Instant, capabilities={"describe_table"}, **settings)

    return connected


def test_a_direct_call_is_one_call():
    assert calls_of(Instant(None).describe_table, REQUEST).total() == 1


@pytest.mark.parametrize(
    ("wrappers", "measured"),
    [(0, 14), (1, 17), (3, 23)],
    ids=["bare", "one middleware", "three middlewares"],
)
def test_the_relay_adds_no_more_calls_than_were_measured(connect, wrappers, measured):
    ns = connect(plugins=[around(passing()) for _ in range(wrappers)])

    seen = calls_of(ns.call, REQUEST)

    assert seen.total() - 1 <= measured * SLACK, seen


def test_a_keyword_method_adds_no_more_calls_than_were_measured(connect):
    ns = connect()

    seen = calls_of(ns.describe_table, ("ml", "docs"))

    assert seen.total() - 1 <= 33 * SLACK, seen


def test_the_backend_is_called_once(connect):
    seen = calls_of(connect().describe_table, ("ml", "docs"))

    assert sum(count for name, count in seen.items() if name.endswith("Instant.describe_table")) == 1
