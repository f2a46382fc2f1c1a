"""What threads share and processes do not: made once, and again in a forked child."""

import threading
from textwrap import dedent
from types import SimpleNamespace
from weakref import ref

import pytest

from lance_ns.perprocess import PerProcess


def test_a_value_is_made_when_it_is_first_asked_for_and_once():
    made = []
    value = PerProcess(lambda: made.append(1) or object())

    assert made == []
    assert value() is value()
    assert made == [1]


class WatchedLock:
    """A lock that tells how many threads came to it."""

    def __init__(self):
        self._lock = threading.Lock()
        self.came = threading.Semaphore(0)

    def __enter__(self):
        self.came.release()
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()


def test_sixteen_threads_that_ask_at_once_get_one_value():
    """The first making ends only when all sixteen have found nothing and stand at the lock."""
    made, got = [], []

    def make():
        made.append(object())
        if len(made) == 1:
            assert all(value._lock.came.acquire(timeout=60) for _ in range(16))
        return made[-1]

    value = PerProcess(make)
    value._lock = WatchedLock()
    threads = [threading.Thread(target=lambda: got.append(value())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(made) == 1
    assert got == made * 16


def test_after_a_making_that_failed_the_next_call_tries_again():
    outcomes = iter([OSError("refused"), OSError("refused"), "value"])

    def make():
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    value = PerProcess(make)

    for _ in range(2):
        with pytest.raises(OSError, match="refused"):
            value()
    assert value() == value() == "value"


def test_closing_disposes_of_a_value_that_was_made_and_of_no_other():
    disposed, numbers = [], iter(range(10))
    value = PerProcess(lambda: next(numbers), disposed.append)

    value.close()
    assert disposed == []
    assert value() == 0
    value.close()
    value.close()
    assert disposed == [0]
    assert value() == 1, "and it is made anew when it is asked for again"


def test_a_value_that_nobody_holds_is_not_kept_alive():
    value = SimpleNamespace(it=PerProcess(object))
    weak = ref(value.it)
    del value.it

    assert weak() is None


FORK = dedent("""
    import os, sys, threading, warnings
    from lance_ns.perprocess import PerProcess

    warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads, which is what is tried here
    {setup}
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            {child}
            os.write(write, str(answer).encode())
        finally:
            os._exit(0)
    os.close(write)
    print(os.read(read, 1000).decode())
    os.waitpid(child, 0)
    {parent}
    os._exit(0)
""")


def test_a_forked_child_makes_a_value_of_its_own_and_disposes_of_none_of_its_parents(run_python):
    script = FORK.format(
        setup="disposed = []; value = PerProcess(os.getpid, disposed.append); before = value()",
        child="answer = (value() == os.getpid(), value() != before, disposed)",
        parent="print(value() == before == os.getpid()); sys.stdout.flush()",
    )

    assert run_python(script).split("\n") == ["(True, True, [])", "True", ""]


def test_a_lock_that_another_thread_held_at_the_fork_does_not_block_the_child(run_python):
    setup = """
    inside, leave = threading.Event(), threading.Event()
    parent = os.getpid()
    def make():
        if os.getpid() == parent:
            inside.set()
            leave.wait()
        return os.getpid()
    value = PerProcess(make)
    threading.Thread(target=value, daemon=True).start()
    inside.wait()
    """
    script = FORK.format(
        setup=dedent(setup).strip(),
        child="answer = value() == os.getpid()",
        parent="leave.set(); print(value() == parent); sys.stdout.flush()",
    )

    assert run_python(script).split("\n") == ["True", "True", ""]


def test_a_connection_works_on_after_a_fork(run_python):
    setup = """
    from lance_ns import models as m
    from lance_ns.config import StorageProperties
    from lance_ns.hookspecs import Backend, Operations, hookimpl
    from lance_ns.namespace import Namespace
    class Forked(Operations):
        def __init__(self, config):
            self.client = PerProcess(os.getpid)
        @hookimpl
        def describe_table(self, request):
            return m.DescribeTableResponse(location=str(self.client()))
    backend = Backend(name="x", summary="", hookspec=1, config=StorageProperties, capabilities={"describe_table"},
                      factory=Forked)
    ns = Namespace(backend, StorageProperties())
    ns.describe_table("t")
    """
    script = FORK.format(
        setup=dedent(setup).strip(),
        child='answer = ns.describe_table("t").location == str(os.getpid())',
        parent='print(ns.describe_table("t").location == str(os.getpid())); sys.stdout.flush()',
    )

    assert run_python(script).split("\n") == ["True", "True", ""]
