"""A child process of the benchmarks: does what it is told, line by line, and tells what it took.

It runs in the environment of whatever it measures, so it imports nothing but the standard library and one client of
this directory. The first line on standard input says which one and how to connect; every further line is an order, and
is answered by one line.
"""

import gc
import importlib
import json
import os
import sys
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def repeat(client: Any, method: str, arguments: list[Any], times: int = 1) -> dict[str, Any]:
    """Call a method some times."""
    call = getattr(client, method)
    answer = None
    started, used = time.perf_counter(), time.process_time()
    for _ in range(times):
        answer = call(*arguments)
    return {"seconds": time.perf_counter() - started, "used": time.process_time() - used, "answer": answer}


def threads(client: Any, method: str, times: int, workers: int = 16) -> dict[str, Any]:
    """Let threads do their steps, so many each, all beginning at once."""
    step = getattr(client, method)
    problems: list[BaseException] = []
    begin = threading.Barrier(workers + 1)

    def work(worker: int) -> None:
        begin.wait()
        try:
            for number in range(times):
                step(worker, number)
        except BaseException as problem:  # noqa: BLE001  # told to the parent
            problems.append(problem)

    crew = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
    for each in crew:
        each.start()
    begin.wait()
    started = time.perf_counter()
    for each in crew:
        each.join()
    seconds = time.perf_counter() - started
    if problems:
        raise problems[0]
    return {"seconds": seconds, "answer": workers * times}


def peak(client: Any, method: str, arguments: list[Any]) -> dict[str, Any]:
    """The most memory that Python objects took while a method ran, beyond those that were there before."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        answer = getattr(client, method)(*arguments)
        return {"bytes": tracemalloc.get_traced_memory()[1] - before, "answer": answer}
    finally:
        tracemalloc.stop()


def fill(client: Any, namespace: str, tables: int) -> dict[str, Any]:
    """Make a namespace of so many tables, several at a time, every tenth of another format; how many are Lance's."""
    kinds = [(f"t{number:05}", client.LANCE_ONLY or number % 10 != 9) for number in range(tables)]
    client.make_namespace(namespace)
    with ThreadPoolExecutor(client.MAKES_AT_ONCE) as pool:
        for _ in pool.map(lambda each: client.make_table(namespace, *each), kinds):
            pass
    return {"answer": sum(is_lance for _, is_lance in kinds)}


ORDERS: dict[str, Callable[..., dict[str, Any]]] = {"repeat": repeat, "threads": threads, "peak": peak, "fill": fill}


def main() -> None:
    """Obey until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    settings = json.loads(sys.stdin.readline())
    client = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            client = client or importlib.import_module(settings["client"]).Client(settings)
            answer = ORDERS[order.pop("do")](client, **order)
        except Exception:  # noqa: BLE001  # told to the parent
            answer = {"problem": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
