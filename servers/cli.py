"""The command line: up, down, status, logs, env, fetch."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from servers import lifecycle, profiles
from servers.errors import Missing, ServersError
from servers.kinds.base import Machine, Server
from servers.kinds.registry import SERVERS, select
from servers.paths import cache_directory, state_directory
from servers.report import say
from servers.tools import tail_of
from servers.versions import TIERS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    chosen = _parser().parse_args(arguments)
    machine = Machine.at(cache_directory(), state_directory())
    try:
        code: int = chosen.run(machine, chosen)
    except ServersError as problem:
        say(str(problem))
        return 1
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        say(f"the system refused: {problem.strerror or problem}{where}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: what was not ready yet was ended, what was ready stays up")
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    listed = f"servers: {', '.join(SERVERS)}; tiers: {', '.join(TIERS)}"
    parser = argparse.ArgumentParser(prog="python -m servers", description=__doc__, epilog=listed)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, epilog=listed)
        sub.set_defaults(run=run)
        sub.add_argument("names", nargs="*", metavar="SERVER", help="servers or tiers; all of them if left out")
        return sub

    start = command("up", _up, "start servers and wait until they answer")
    start.add_argument(
        "--port", action="append", default=[], metavar="SERVER=NUMBER", type=_port, help="a port instead of a free one"
    )
    command("down", _down, "end servers")
    command("status", _status, "show version, port, start and memory of each server")
    logs = command("logs", _logs, "show the end of servers' logs")
    logs.add_argument("-n", "--lines", type=int, default=40, help="how many lines (40)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as the log grows")
    command("env", _env, "print the connection properties of the servers that are up, as profiles for lance-ns")
    command("fetch", _fetch, "fetch and build what the servers need, without starting them")
    return parser


def _port(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if name not in SERVERS or not number.isdecimal() or not 0 < int(number) < 65536:
        message = f"{text!r} is not of the form SERVER=NUMBER"
        raise argparse.ArgumentTypeError(message)
    return name, int(number)


def _selected(chosen: argparse.Namespace) -> list[Server]:
    return select(chosen.names or ["all"])


def _exactly(chosen: argparse.Namespace) -> list[Server]:
    """The servers that were named, without those they need: nobody wants S3 ended with Nessie."""
    named = {name for word in chosen.names for name in TIERS.get(word, (word,))}
    return [server for server in _selected(chosen) if not named or server.name in named]


def _tolerant(chosen: argparse.Namespace) -> bool:
    """Whether a server that this machine cannot have is a remark and not a failure: `up` of everything."""
    return not chosen.names or "all" in chosen.names


def _up(machine: Machine, chosen: argparse.Namespace) -> int:
    failed = False
    for outcome in lifecycle.up(machine, _selected(chosen), ports=dict(chosen.port)):
        name = outcome.server.name
        if outcome.facts is not None:
            how = "is up already" if outcome.already else f"is up after {outcome.facts.ready_seconds} s"
            say(f"{name} {outcome.facts.version} {how}: {outcome.facts.endpoint}")
        elif outcome.missing and _tolerant(chosen):
            say(f"{name}: not to be had on this machine. {str(outcome.problem).removeprefix(f'{name}: ')}")
        else:
            failed = True
            say(str(outcome.problem))
    return 1 if failed else 0


def _down(machine: Machine, chosen: argparse.Namespace) -> int:
    found = lifecycle.down(machine, _exactly(chosen))
    for name, what in found.items():
        say(f"{name}: {what}")
    if not found:
        say("nothing was running")
    return 0


def _status(machine: Machine, chosen: argparse.Namespace) -> int:
    lines = [lifecycle.status(machine, server) for server in _exactly(chosen)]
    header = ("server", "state", "version", "port", "pid", "started", "ready in", "memory")
    rows = [header]
    rows += [
        (
            line.name,
            line.condition,
            line.version or "–",
            str(line.port or "–"),
            str(line.pid or "–"),
            line.began.replace("T", " ")[:19] or "–",
            "–" if line.ready_seconds is None else f"{line.ready_seconds} s",
            "–" if line.memory_mib is None else f"{line.memory_mib} MiB",
        )
        for line in lines
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    total = sum(line.memory_mib or 0 for line in lines)
    if total:
        print(f"together {total} MiB")
    for line in lines:
        if line.advice:
            print(f"{line.name}: {line.advice}")
    return 1 if any(line.condition in ("died", "silent", "left over") for line in lines) else 0


def _logs(machine: Machine, chosen: argparse.Namespace) -> int:
    servers = _exactly(chosen)
    if not chosen.names:
        servers = [server for server in servers if machine.server_state(server.name).log.exists()]
    logs = [lifecycle.log_of(machine, server) for server in servers]
    for server, log in zip(servers, logs, strict=True):
        if len(logs) > 1:
            print(f"==> {server.name} <==")
        print(tail_of(log, chosen.lines))
    if chosen.follow:
        _follow(logs)
    return 0


def _follow(logs: list[Path]) -> None:
    handles = [log.open(encoding="utf-8", errors="replace") for log in logs]
    for handle in handles:
        handle.seek(0, os.SEEK_END)
    while True:
        for handle in handles:
            text = handle.read()
            sys.stdout.write(text)
        sys.stdout.flush()
        time.sleep(0.3)


def _env(machine: Machine, chosen: argparse.Namespace) -> int:
    found = profiles.collect(machine, _exactly(chosen))
    if not found:
        message = "no such server is up: `python -m servers up` starts them."
        raise ServersError(message)
    print(profiles.to_toml(found), end="")
    return 0


def _fetch(machine: Machine, chosen: argparse.Namespace) -> int:
    failed = False
    for server in _selected(chosen):
        try:
            if server.external() is None:
                server.prepare(machine)
            say(f"{server.name} {server.version(machine)}: ready to start")
        except ServersError as problem:
            failed = failed or not (isinstance(problem, Missing) and _tolerant(chosen))
            say(str(problem))
    return 1 if failed else 0
