"""Run the benchmarks and write results: `make bench`, or `make bench ONLY=iceberg`.

`python -m benchmarks --report` makes the pages anew of the results that there are.
"""

import sys
from collections.abc import Callable
from functools import partial

from benchmarks import catalogs, relay, results, spark, startup
from benchmarks.backends import ADAPTERS
from benchmarks.children import Failed
from benchmarks.measure import Figure, not_measured
from benchmarks.progress import say
from servers.errors import ServersError


def of_backend(name: str) -> tuple[list[Figure], str]:
    """The figures of a backend and its server's version; what cannot be had is said in their place."""
    adapter = ADAPTERS[name]
    why_not = adapter.why_not()
    if why_not is None:
        try:
            return catalogs.figures(adapter)
        except ServersError as problem:
            why_not = str(problem)
    say(f"{name}: not measured: {why_not}")
    return [not_measured(name, why_not)], ""


SUITES: dict[str, Callable[[], tuple[list[Figure], str]]] = {
    "startup": lambda: (startup.figures(), ""),
    "relay": lambda: (relay.figures(), ""),
    **{name: partial(of_backend, name) for name in ADAPTERS},
    "spark": spark.figures,
}


def main() -> None:
    """Measure the suites that were named, or all."""
    wanted = sys.argv[1:] or list(SUITES)
    if wanted == ["--report"]:
        results.publish(results.read())
        return
    unknown = set(wanted) - set(SUITES)
    if unknown:
        sys.exit(f"there is no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    broken = False
    for name in wanted:
        say(f"measuring {name}")
        try:
            figures, server = SUITES[name]()
        except Failed as problem:
            say(f"{name}: broken off: {problem}")
            broken = True
            continue
        results.add(name, figures, server)
        print(results.table(results.of_suite(name)), flush=True)
    results.publish(results.read())
    missed = [each for name in wanted for each in results.of_suite(name) if each["met"] is False]
    if broken or missed:
        sys.exit("a suite was broken off" if broken else f"{len(missed)} goals were missed")


if __name__ == "__main__":
    main()
