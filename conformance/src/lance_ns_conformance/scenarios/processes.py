"""Connections in other processes: sent there, and inherited by a fork."""

import os
import pickle
import subprocess
import sys

from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns.registry import BACKENDS, names
from lance_ns_conformance.scenario import scenario
from lance_ns_conformance.world import World

SENT = """
import pickle, sys
ns, id = pickle.load(sys.stdin.buffer)
with ns:
    print(sorted(ns.list_tables(id)), ns.describe_table((*id, "t")).location)
"""
FORKED = """
import os, pickle, signal, sys
from lance_ns.errors import Unsupported
ns, id = pickle.load(sys.stdin.buffer)
before = sorted(ns.list_tables(id))
child = os.fork()
if not child:
    signal.alarm(60)
    right = False
    try:
        right = all(sorted(ns.list_tables(id)) == before for _ in range(5))
    except Unsupported:
        right = True
    finally:
        os._exit(0 if right else 1)
for _ in range(5):
    assert sorted(ns.list_tables(id)) == before
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def elsewhere(script: str, ns: Namespace, world: World, id: Levels) -> str:
    """What a script prints that gets a connection and an identifier in a fresh process."""
    if ns.backend not in names(BACKENDS):
        world.skip("the backend is not installed, so another process cannot find it")
    given = pickle.dumps((ns, id))
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=given, capture_output=True, timeout=120, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return done.stdout.decode().strip()


def filled(ns: Namespace, world: World) -> Levels:
    """A namespace with a table."""
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    return id


@scenario(
    "a connection that was sent to another process works there", clauses=["contract.concurrency.7"], live_only=True
)
def sent(ns: Namespace, world: World) -> None:
    id = filled(ns, world)
    assert elsewhere(SENT, ns, world, id) == f"['t'] {ns.describe_table((*id, 't')).location}"


@scenario(
    "a connection works on both sides of a fork, or says that it cannot",
    clauses=["contract.concurrency.8"],
    live_only=True,
)
def forked(ns: Namespace, world: World) -> None:
    if not hasattr(os, "fork"):
        world.skip("this system cannot fork")
    assert elsewhere(FORKED, ns, world, filled(ns, world)) == "0", "the child got wrong answers, or none in time"
