"""Several threads, processes and connections on one root."""

import pickle
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import lance_ns
from lance_ns import Namespace

WRITERS = 16


def race(call):
    """What each of sixteen threads that start together gets: "ok", or the name of its error."""
    gate = threading.Barrier(WRITERS)

    def attempt(number: int) -> str:
        gate.wait()
        try:
            call(number)
        except lance_ns.LanceNsError as error:
            return type(error).__name__
        return "ok"

    with ThreadPoolExecutor(WRITERS) as pool:
        return Counter(pool.map(attempt, range(WRITERS)))


def test_of_sixteen_racing_declares_one_wins_and_fifteen_find_it_taken(ns: Namespace):
    ns.create_namespace("ml")
    assert race(lambda _: ns.declare_table("ml$t")) == {"ok": 1, "TableAlreadyExists": 15}


def test_of_sixteen_racing_connections_one_creates_the_namespace(ns: Namespace, root):
    def create(_: int) -> None:
        with lance_ns.connect("dir", root=root) as own:
            own.create_namespace("ml")

    assert race(create) == {"ok": 1, "NamespaceAlreadyExists": 15}


def test_sixteen_racing_exist_ok_all_succeed(ns: Namespace):
    assert race(lambda _: ns.create_namespace("ml", mode="exist_ok")) == {"ok": 16}


def test_of_sixteen_racing_writers_that_create_a_table_one_wins_and_its_rows_stay(ns: Namespace):
    import pyarrow as pa

    ns.create_namespace("ml")
    winners = []

    def write(number: int) -> None:
        ns.write("ml$t", pa.table({"writer": [number] * 3}))
        winners.append(number)

    assert race(write) == {"ok": 1, "TableAlreadyExists": 15}
    dataset = ns.dataset("ml$t")
    assert dataset.version == 1
    assert dataset.to_table().to_pydict() == {"writer": winners * 3}


def test_of_sixteen_racing_writers_on_a_declared_table_one_writes_the_first_version(ns: Namespace):
    import pyarrow as pa

    ns.declare_table("t")
    winners = []

    def write(number: int) -> None:
        ns.write("t", pa.table({"writer": [number]}))
        winners.append(number)

    assert race(write) == {"ok": 1, "TableAlreadyExists": 15}
    assert ns.dataset("t").to_table().to_pydict() == {"writer": winners}


def test_sixteen_threads_on_one_connection_lose_nothing(ns: Namespace):
    ns.create_namespace("ml")
    assert race(lambda number: ns.declare_table(f"ml$t{number}")) == {"ok": 16}
    assert len(list(ns.list_tables("ml"))) == 16


def test_a_connection_pickles_and_works_in_another_process(ns: Namespace, tmp_path):
    ns.create_namespace("ml")
    (tmp_path / "pickled").write_bytes(pickle.dumps(ns))
    script = f"import pickle; print(*pickle.loads(open({str(tmp_path / 'pickled')!r}, 'rb').read()).list_namespaces())"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd="/")
    assert result.stdout == "ml\n", result.stderr


FORK = """
import os, sys
import lance_ns

ns = lance_ns.connect("dir", root=sys.argv[1])
if sys.argv[2] == "used":
    ns.create_namespace("ml")
child = os.fork()
if child == 0:
    try:
        ns.create_namespace("ml", mode="exist_ok")
        ns.declare_table("ml$from_the_child")
    except lance_ns.Unsupported as error:
        print(error, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(*ns.list_tables("ml"))
"""


def test_a_connection_made_before_a_fork_works_in_the_child_and_in_the_parent(root):
    result = subprocess.run([sys.executable, "-c", FORK, root, "unused"], capture_output=True, text=True, timeout=60)
    assert result.stdout == "from_the_child\n", result.stderr


def test_after_a_fork_in_mid_use_the_child_is_told_and_the_parent_goes_on(root):
    """pylance hangs or crashes in such a child, now and then."""
    result = subprocess.run([sys.executable, "-c", FORK, root, "used"], capture_output=True, text=True, timeout=60)
    assert "cannot be used in a process that was forked" in result.stdout, result.stderr
    assert "spawn or forkserver" in result.stdout


@pytest.mark.parametrize("again", [1, 2])
def test_a_closed_connection_refuses_calls_and_may_be_closed_again(ns: Namespace, again: int):
    for _ in range(again):
        ns.close()
    with pytest.raises(lance_ns.InvalidInput, match="closed"):
        ns.create_namespace("ml")
    with pytest.raises(lance_ns.InvalidInput, match="closed"):
        ns.namespace_exists("ml")
