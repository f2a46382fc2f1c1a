"""Record the cassettes of a backend anew from real servers: `make record BACKEND=iceberg [SERVER=…]`.

Starts what the backend's description names, one server after the other, records every scenario of its scope, and ends
what it has started. A server that runs already is used and left up.
"""

import sys
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lance_ns.errors import LanceNsError  # noqa: E402
from lance_ns_conformance.run import Result, applicable, run  # noqa: E402
from lance_ns_conformance.subject import Server, description_of, subject_of  # noqa: E402
from lance_ns_conformance.suite import remove_stale  # noqa: E402
from servers import lifecycle, profiles  # noqa: E402
from servers.errors import ServersError  # noqa: E402
from servers.kinds.base import Machine  # noqa: E402
from servers.kinds.registry import select  # noqa: E402
from servers.paths import cache_directory, state_directory  # noqa: E402
from servers.processes import Identity  # noqa: E402


def reached(machine: Machine, server: Server, holder: Identity) -> dict[str, Any]:
    """The properties with which a server is reached, once it answers."""
    if server.starts is None:
        sys.exit(f"{server.name}: nothing says what starts it")
    outcomes = lifecycle.up(machine, select([server.starts]), holder=holder)
    for outcome in outcomes:
        if outcome.problem is not None:
            raise outcome.problem
    facts = next(outcome.facts for outcome in outcomes if outcome.server.name == server.starts)
    assert facts is not None
    if facts.version.replace(" ", "-") not in server.name:
        sys.exit(f"{server.name}: what runs is {server.starts} {facts.version}, which is another one")
    offered = profiles.collect(machine, select([server.starts]))
    own = {name: each for name, each in offered.items() if name.startswith(f"{server.starts}-live")}
    return {name: value for name, value in next(iter(own.values())).items() if name != "backend"}


def record(backend: str, server: Server, properties: dict[str, Any]) -> list[Result]:
    """Record one server; the failures."""
    subject = subject_of(backend, properties, mode="record", server=server.name)
    subject = attrs.evolve(subject, places=(str(state_directory()),))
    fitting, _ = applicable(subject)
    results = list(run(subject, fitting, progress))
    remove_stale(subject)
    failed = [each for each in results if each.failed]
    print(f"{server.name}: {len(results)} scenarios, {len(failed)} failed")
    return failed


def progress(result: Result) -> None:
    """A line for what is not simply recorded."""
    if result.failed:
        print(f"✗ {result.scenario.id}\n{result.details}")
    elif result.deviation:
        print(f"– {result.scenario.id} deviates: {result.deviation}")


def main(arguments: list[str]) -> int:
    """Record what the command line names; 1 when something failed."""
    if not arguments:
        sys.exit("say which backend: tools/record.py BACKEND [SERVER…]")
    backend, *names = arguments
    machine, holder = Machine.at(cache_directory(), state_directory()), Identity.current()
    failed = []
    try:
        description = description_of(backend)
        if not description.servers:
            sys.exit(f"{backend} has no servers to record: its conformance module names none")
        for server in [description.server(name) for name in names or description.servers]:
            assert server is not None
            try:
                failed += record(backend, server, reached(machine, server, holder))
            finally:
                lifecycle.let_go(machine, select(["all"]), holder)
    except (LanceNsError, ServersError) as error:
        sys.exit(str(error))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
