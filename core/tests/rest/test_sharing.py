"""One client for many threads, forked children and other processes."""

import pickle
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent

import pytest
from small_server import RESET, Answer, Asked, Reply

from lance_ns import models as m
from lance_ns.errors import LanceNsError

CREDENTIAL = "me:s3cret"


def test_a_forked_child_gets_its_own_answers_on_its_own_connections(start, run_python):
    server = start(lambda asked: Reply(body={"target": asked.target, "connection": asked.connection}))
    script = dedent("""
        import json, os, sys
        from lance_ns.rest.client import RestClient, Settings
        from lance_ns.rest.dialect import Dialect, iceberg_error

        settings = Settings(connect_seconds=30, read_seconds=30, operation_seconds=60, retries=0)
        client = RestClient(sys.argv[1], Dialect(read=iceberg_error), settings)

        def work(who):
            return [client.call("GET", f"/{who}/{number}").body for number in range(100)]

        first = client.call("GET", "/first").body
        reading, writing = os.pipe()
        child = os.fork()
        answers = work("child" if child == 0 else "parent")
        if child == 0:
            with os.fdopen(writing, "w") as out:
                json.dump(answers, out)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as back:
            childs = json.load(back)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [each["target"] for each in answers] == [f"/parent/{number}" for number in range(100)]
        assert [each["target"] for each in childs] == [f"/child/{number}" for number in range(100)]
        assert {each["connection"] for each in answers} == {first["connection"]}
        assert first["connection"] not in {each["connection"] for each in childs}
        print("all well")
    """)

    assert run_python(script, server.url) == "all well\n"


def test_a_child_that_was_forked_while_a_token_was_being_fetched_fetches_its_own(start, run_python):
    def answer(asked: Asked) -> Answer:
        return Reply(body={"access_token": "t0ken"}) if asked.target == "/token" else Reply(body={"by": asked.token})

    server = start(answer)
    script = dedent("""
        import os, sys, threading
        from lance_ns.config import Secret
        from lance_ns.rest.client import RestClient, Settings
        from lance_ns.rest.dialect import Dialect, iceberg_error
        from lance_ns.rest.tokens import ClientCredentials

        settings = Settings(connect_seconds=30, read_seconds=30, operation_seconds=60, retries=0)
        dialect = Dialect(read=iceberg_error)
        fetcher = RestClient(sys.argv[1], dialect, settings)
        parent, inside, go_on = os.getpid(), threading.Event(), threading.Event()

        def ask(form):
            inside.set()
            if os.getpid() == parent:
                go_on.wait(30)
            return fetcher.call("POST", "/token", form=form).body

        client = RestClient(sys.argv[1], dialect, settings, ClientCredentials(Secret("me:s3cret"), "s", ask))
        thread = threading.Thread(target=client.call, args=("GET", "/parent"))
        thread.start()
        inside.wait(30)
        child = os.fork()
        if child == 0:
            right = client.call("GET", "/child").body == {"by": "t0ken"}
            os._exit(0 if right else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        go_on.set()
        thread.join()
        print(code)
    """)

    assert run_python(script, server.url) == "0\n"
    assert Counter(each.target for each in server.asked) == {"/token": 2, "/parent": 1, "/child": 1}


def test_a_connection_pickles_and_goes_on_elsewhere(start, small):
    server = start(lambda asked: Reply(body={"by": str(asked.token), "tenant": asked.headers["x-tenant"]}))
    ns = small(server, auth_token="t0ken", **{"header.X-Tenant": "acme"})
    ns.describe_namespace("n")

    with pickle.loads(pickle.dumps(ns)) as other:
        assert other.describe_namespace("n").properties == {"by": "t0ken", "tenant": "acme"}

    assert [each.connection for each in server.asked] == [1, 2]


@pytest.mark.parametrize("reason", ["no such namespace", "nobody there"])
def test_an_error_pickles(start, small, reason):
    server = start(Reply(410, {"error": {"message": "gone"}}))
    ns = small(server)
    if reason == "nobody there":
        server.close()

    with pytest.raises(LanceNsError) as caught:
        ns.describe_namespace("n")
    again = pickle.loads(pickle.dumps(caught.value))

    assert (type(again), str(again), again.fields()) == (type(caught.value), str(caught.value), caught.value.fields())


class Catalog:
    """Documents by path, tokens that end after some calls, and answers that get lost."""

    def __init__(self, calls_of_a_token: int, lost: int) -> None:
        self.entries: dict[str, int] = {}
        self.tokens = 0
        self._calls_of_a_token = calls_of_a_token
        self._lost = lost
        self._calls = 0
        self._left = 0
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Answer:
        with self._lock:
            if asked.target == "/oauth/tokens":
                self.tokens += 1
                self._left = self._calls_of_a_token
                return Reply(body={"access_token": f"t{self.tokens}", "expires_in": 3600})
            if asked.token != f"t{self.tokens}" or self._left == 0:
                return Reply(401, {"error": {"message": "expired"}})
            self._left -= 1
            self._calls += 1
            if asked.method == "POST":
                self.entries[asked.target] = self.entries.get(asked.target, 0) + 1
            found = self.entries.get(asked.target, 0)
            if asked.method == "DELETE":
                self.entries.pop(asked.target, None)
            if asked.method != "POST" and self._calls % self._lost == 0:
                return RESET
            return Reply(body={"times": str(found)}) if found else Reply(404, {"error": {"message": "none"}})


def test_a_storm_of_threads_loses_nothing_while_tokens_expire_and_answers_get_lost(start, small, pauses):
    catalog = Catalog(calls_of_a_token=250, lost=7)
    server = start(catalog)
    ns = small(server, credential=CREDENTIAL, max_retries=9, max_connections=8)
    together = threading.Barrier(16)

    def work(number: int) -> int:
        together.wait(timeout=30)
        done = 0
        for turn in range(25):
            name = [f"{number}-{turn}"]
            ns.call(m.CreateNamespaceRequest(id=name))
            assert ns.call(m.DescribeNamespaceRequest(id=name)).properties == {"times": "1"}
            if turn % 2:
                ns.call(m.DropNamespaceRequest(id=name))
            done += 1
        return done

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(16))) == 400

    assert catalog.entries == {f"/n/{number}-{turn}": 1 for number in range(16) for turn in range(0, 25, 2)}
    assert catalog.tokens > 3
