"""The facade: the one way to the backend, and what a connection promises."""

import copy
import pickle
import threading
from contextlib import suppress
from textwrap import dedent

import attrs
import pytest

import lance_ns
from lance_ns import derived
from lance_ns import models as m
from lance_ns.capabilities import BASIC, KNOWN, OPERATIONS, POINTS
from lance_ns.errors import (
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceNotFound,
    ServiceUnavailable,
    TableNotFound,
    TableVersionNotFound,
    Unsupported,
)
from lance_ns.hookspecs import Operations, hookimpl

IDENTITY = m.Identity(auth_token="somebody")
REQUESTS = {
    "register_table": m.RegisterTableRequest(id=["t"], location="/x"),
    "rename_table": m.RenameTableRequest(id=["t"], new_table_name="u"),
}
CALLS = {
    "create_namespace": lambda ns, it: ns.create_namespace(it),
    "list_namespaces": lambda ns, it: list(ns.list_namespaces(it)),
    "list_namespaces_page": lambda ns, it: ns.list_namespaces_page(it),
    "describe_namespace": lambda ns, it: ns.describe_namespace(it),
    "drop_namespace": lambda ns, it: ns.drop_namespace(it),
    "namespace_exists": lambda ns, it: ns.namespace_exists(it),
    "declare_table": lambda ns, it: ns.declare_table(it),
    "list_tables": lambda ns, it: list(ns.list_tables(it)),
    "list_tables_page": lambda ns, it: ns.list_tables_page(it),
    "list_all_tables": lambda ns, it: list(ns.list_all_tables(it)),
    "describe_table": lambda ns, it: ns.describe_table(it),
    "table_exists": lambda ns, it: ns.table_exists(it),
    "register_table": lambda ns, it: ns.register_table(it, "/x"),
    "rename_table": lambda ns, it: ns.rename_table(it, "u"),
    "alter_table_properties": lambda ns, it: ns.alter_table_properties(it, {"a": "b"}),
    "deregister_table": lambda ns, it: ns.deregister_table(it),
    "drop_table": lambda ns, it: ns.drop_table(it),
}

each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
each_operation = pytest.mark.parametrize("operation", sorted(OPERATIONS))


def request_of(operation: str, **fields: object) -> m.Request:
    return attrs.evolve(REQUESTS.get(operation) or m.REQUESTS[operation](id=["t"]), **fields)


def filled(ns: lance_ns.Namespace) -> lance_ns.Namespace:
    for namespace in ("a", "b", "a$x", "a$x$deep"):
        ns.create_namespace(namespace)
    for table in ("one", "a$two", "a$x$three", "a$x$deep$four"):
        ns.declare_table(table)
    return ns


# --- ordinary use --------------------------------------------------------------------------------------------------


def test_what_the_sketch_of_a_user_shows_works(installed):
    with lance_ns.connect("memory", root="s3://lake") as ns:
        ns.create_namespace("ml", properties={"owner": "search"}, mode="exist_ok")
        declared = ns.declare_table("ml$docs")

        assert declared.location == "s3://lake/ml/docs"
        assert list(ns.list_tables("ml")) == ["docs"]
        assert ns.describe_table("ml$docs").location == ns.describe_table(["ml", "docs"]).location == declared.location
        with pytest.raises(TableNotFound) as caught:
            ns.describe_table("ml$nope")
    assert (caught.value.code, caught.value.identifier, caught.value.backend) == (4, ("ml", "nope"), "memory")
    assert str(caught.value) == "memory: table ml$nope not found (TableNotFound, 4)"


def test_keywords_and_a_mapping_give_properties_and_keywords_win(installed):
    ns = lance_ns.connect("memory", {"retries": 1, "storage.region": "eu"}, retries=2)

    assert (ns._config.retries, ns.storage) == (2, {"region": "eu"})


@pytest.mark.parametrize("method", sorted({"call", *CALLS} - {"list_namespaces", "list_tables", "list_all_tables"}))
def test_a_keyword_method_sends_its_request_once_and_gives_back_the_answer(memory, method):
    """For what the backend implements, there is one request and no other."""
    operation = method.removesuffix("_page").replace("call", "describe_table")
    answer = m.REQUESTS[operation].response
    answer = answer(tables=[]) if operation in ("list_tables", "list_all_tables") else answer
    answer = m.ListNamespacesResponse(namespaces=[]) if operation == "list_namespaces" else answer
    answer = answer() if isinstance(answer, type) else answer
    factory = memory.extended(operation, answers={operation: lambda request: answer})
    ns = memory.connect(factory=factory, capabilities=BASIC | {operation})

    result = ns.call(request_of("describe_table")) if method == "call" else CALLS[method](ns, ["t"])

    assert result is True if method.endswith("exists") else result is answer
    assert [(each.operation, each.id) for each in memory.requests(ns)] == [(operation, ("t",))]


def test_identifiers_are_read_with_the_connections_delimiter(memory):
    ns = memory.connect(delimiter=".")
    ns.create_namespace("a")

    ns.create_namespace("a.b$c")

    assert ns.parse("a.b$c") == ("a", "b$c")
    assert memory.requests(ns)[-1].id == ("a", "b$c")


def test_identifiers_are_shown_with_the_catalogs_delimiter(memory):
    ns = memory.connect(display_delimiter=".")

    assert ns.show(("a", "b")) == "a.b"
    assert ns.show(()) == "(root)"


def test_an_empty_delimiter_is_refused(installed):
    with pytest.raises(InvalidInput, match="delimiter"):
        lance_ns.connect("memory", delimiter="")


# --- capabilities --------------------------------------------------------------------------------------------------


@each_operation
def test_what_is_not_declared_is_unsupported_before_anything_is_sent(memory, operation):
    class Empty(Operations):
        """Implements nothing."""

    ns = memory.connect(factory=lambda config: Empty(), capabilities=())

    with pytest.raises(Unsupported) as caught:
        ns.call(request_of(operation))
    error = caught.value
    assert (error.code, error.operation, error.native, error.backend) == (0, operation, operation, "memory")
    assert error.identifier == ("t",)


FINER = {
    "drop_namespace.cascade": {"behavior": "cascade"},
    "declare_table.location": {"location": "/x"},
    "declare_table.vend_credentials": {"vend_credentials": True},
    "describe_table.version": {"version": 0},
    "describe_table.tag": {"tag": ""},
    "describe_table.branch": {"branch": "main"},
    "describe_table.with_table_uri": {"with_table_uri": True},
    "describe_table.load_detailed_metadata": {"load_detailed_metadata": True},
    "describe_table.check_declared": {"check_declared": True},
    "describe_table.vend_credentials": {"vend_credentials": True},
    "list_tables.include_declared": {"include_declared": False},
    "list_all_tables.include_declared": {"include_declared": False},
    "table_exists.version": {"version": 1},
    "register_table.overwrite": {"mode": "overwrite"},
    "rename_table.new_namespace_id": {"new_namespace_id": ()},
}


def test_every_finer_point_is_tried_below():
    assert set(FINER) == {f"{operation}.{point}" for operation, points in POINTS.items() for point in points}


@pytest.mark.parametrize("point", FINER)
def test_a_finer_point_that_is_not_declared_is_unsupported_before_anything_is_sent(memory, point):
    operation = point.partition(".")[0]
    answered = []
    factory = memory.extended(operation, answers={operation: answered.append})
    ns = memory.connect(factory=factory, capabilities=BASIC | {operation})
    request = request_of(operation, **FINER[point])

    with pytest.raises(Unsupported) as caught:
        ns.call(request)

    assert caught.value.native == point
    assert answered == []


@pytest.mark.parametrize("point", FINER)
def test_a_finer_point_that_is_declared_reaches_the_backend(memory, point):
    operation = point.partition(".")[0]
    sent = []
    factory = memory.extended(operation, answers={operation: sent.append})
    ns = memory.connect(factory=factory, capabilities=BASIC | {operation, point})
    request = request_of(operation, **FINER[point])

    with pytest.raises(Internal, match="answered NoneType"):
        ns.call(request)

    assert sent == [request]


@each_operation
def test_an_identity_that_the_backend_cannot_honour_is_unsupported(memory, operation):
    answered = []
    factory = memory.extended(operation, answers={operation: answered.append})
    ns = memory.connect(factory=factory, capabilities=BASIC | {operation})

    with pytest.raises(Unsupported) as caught:
        ns.call(request_of(operation, identity=IDENTITY))
    assert caught.value.native == "identity"
    assert answered == []


@each_operation
def test_identity_and_context_are_not_lost_where_an_operation_is_built_from_others(memory, operation):
    """Neither with a backend that cannot honour it, nor with one that can."""
    ns = filled(memory.connect())
    memory.requests(ns).clear()
    with pytest.raises(Unsupported):
        derived.serve(ns, request_of(operation, identity=IDENTITY))
    assert memory.requests(ns) == []

    ns = filled(memory.connect(capabilities=BASIC | {"identity"}))
    memory.requests(ns).clear()
    with suppress(LanceNsError):
        derived.serve(ns, request_of(operation, id=["a"], identity=IDENTITY, context={"trace": "1"}))
    assert all((each.identity, each.context) == (IDENTITY, {"trace": "1"}) for each in memory.requests(ns))


def test_a_connection_may_have_less_than_its_backend_declares(memory):
    class Lesser(memory.Namespace):
        capabilities = frozenset({*BASIC, "rename_table"} - {"declare_table"})

    ns = memory.connect(factory=Lesser)

    assert ns.capabilities == BASIC - {"declare_table"}
    with pytest.raises(Unsupported, match="declare_table is not supported"):
        ns.declare_table("t")
    assert memory.requests(ns) == []


def test_a_connection_may_learn_what_its_server_lacks(memory):
    ns = memory.connect(capabilities=BASIC | {"drop_namespace.cascade"})
    assert ns.capabilities == BASIC | {"drop_namespace.cascade"}

    ns._implementation.capabilities = BASIC

    with pytest.raises(Unsupported, match="dropping a namespace with what it holds is not supported"):
        ns.drop_namespace("a", behavior="cascade")


def test_an_unknown_capability_is_not_declared(memory):
    with pytest.raises(ValueError, match=r"unknown capabilities: describe_table\.fast, fly"):
        memory.backend(capabilities=BASIC | {"fly", "describe_table.fast"})


def test_capabilities_are_words_that_all_belong_to_an_operation():
    assert BASIC < OPERATIONS < KNOWN
    assert {word.partition(".")[0] for word in KNOWN} == OPERATIONS | {"identity"}


# --- the backend's answer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [None, "text", {}, m.DescribeNamespaceResponse(), m.DescribeTableResponse],
    ids=lambda answer: str(answer)[:20],
)
def test_an_answer_of_the_wrong_type_is_an_internal_error_that_names_the_hook(memory, answer):
    ns = memory.connect(answers={"describe_table": lambda request: answer})

    with pytest.raises(Internal) as caught:
        ns.describe_table("a$t")
    error = caught.value
    assert error.message == f"describe_table answered {type(answer).__name__}, not DescribeTableResponse"
    assert (error.backend, error.operation, error.identifier) == ("memory", "describe_table", ("a", "t"))


@each_operation
def test_every_hook_that_returns_none_is_an_internal_error(memory, operation):
    factory = memory.extended(operation, answers={operation: lambda request: None})
    ns = memory.connect(factory=factory, capabilities=BASIC | {operation})

    with pytest.raises(Internal, match=f"{operation} answered NoneType"):
        ns.call(request_of(operation))


@pytest.mark.parametrize(
    "native", [ValueError("disk on fire"), KeyError("x"), RecursionError(), OSError(5, "io")], ids=repr
)
def test_a_foreign_exception_becomes_internal_with_its_name_and_cause(memory, native):
    ns = memory.connect(answers={"describe_table": raising(native)})

    with pytest.raises(Internal) as caught:
        ns.describe_table("a$t")
    error = caught.value
    assert error.message == f"describe_table failed unexpectedly: {type(native).__name__}: {native}"
    assert error.native == type(native).__name__
    assert error.__cause__ is native
    assert (error.backend, error.operation, error.identifier) == ("memory", "describe_table", ("a", "t"))


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()], ids=repr)
def test_what_ends_a_program_passes_through(memory, signal):
    ns = memory.connect(answers={"describe_table": raising(signal)})

    with pytest.raises(type(signal)) as caught:
        ns.call(m.DescribeTableRequest(id=["t"]))
    assert caught.value is signal


def test_an_error_of_the_taxonomy_passes_as_it_is_with_its_place(memory):
    native = OSError("refused")
    original = ServiceUnavailable("unreachable", hint="wait", retry_after=3)
    original.__cause__ = native
    ns = memory.connect(answers={"describe_table": raising(original)})

    with pytest.raises(ServiceUnavailable) as caught:
        ns.describe_table("a$t")
    assert caught.value is original
    assert (original.backend, original.operation, original.identifier) == ("memory", "describe_table", ("a", "t"))
    assert (original.hint, original.retry_after, original.__cause__) == ("wait", 3, native)


def raising(error: BaseException):
    def answer(request):
        raise error

    return answer


@each_call
def test_a_malformed_identifier_is_refused_with_the_backends_name_and_nothing_is_sent(memory, call):
    ns = memory.connect()

    for identifier in ("a$$b", ["a", ".."], ["a", 5]):
        with pytest.raises(InvalidInput) as caught:
            call(ns, identifier)
        assert caught.value.backend == "memory"
    assert memory.requests(ns) == []


def test_a_bad_argument_is_refused_with_the_backends_name(memory):
    ns = memory.connect()

    for call in (
        lambda: ns.create_namespace("a", mode="sometimes"),
        lambda: ns.drop_namespace("a", behavior="maybe"),
        lambda: ns.list_tables_page(limit=0),
        lambda: ns.create_namespace("a", properties={"a": 1}),
        lambda: ns.describe_table("t", tag="x", version=1),
        lambda: ns.drop_table("t", delete_data="false"),
        lambda: ns.register_table("t", ""),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.backend == "memory"
    assert memory.requests(ns) == []


# --- backends that are refused at connect --------------------------------------------------------------------------


def test_a_backend_without_any_hook_is_refused(memory):
    class Unmarked(Operations):
        def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
            return m.DescribeTableResponse()

    with pytest.raises(Internal, match=r"declares and what it implements differ: .*describe_table") as caught:
        memory.connect(factory=lambda config: Unmarked(), capabilities={"describe_table"})
    assert "@hookimpl" in caught.value.hint


def test_an_override_without_the_marker_is_missed(memory):
    class Forgot(memory.Namespace):
        def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
            return m.ListTablesResponse(tables=[])

    with pytest.raises(Internal, match=r"differ: list_tables \(Internal"):
        memory.connect(factory=Forgot)


def test_a_backend_that_implements_more_than_it_declares_is_refused(memory):
    with pytest.raises(Internal, match=r"differ: list_tables \(Internal"):
        memory.connect(capabilities=BASIC - {"list_tables"})


def test_a_backend_that_declares_more_than_it_implements_is_refused(memory):
    with pytest.raises(Internal, match=r"differ: drop_table, rename_table \(Internal") as caught:
        memory.connect(capabilities=BASIC | {"rename_table", "drop_table"})
    assert caught.value.backend == "memory"


def test_a_hook_with_another_argument_is_refused(memory):
    class Misnamed(memory.Namespace):
        @hookimpl
        def list_tables(self, req):
            return m.ListTablesResponse(tables=[])

    with pytest.raises(Internal, match="req"):
        memory.connect(factory=Misnamed)


def test_a_misspelt_hook_of_a_backend_is_refused(memory):
    class Misspelt(memory.Namespace):
        @hookimpl
        def list_tabels(self, request):
            return m.ListTablesResponse(tables=[])

    with pytest.raises(LanceNsError, match="list_tabels"):
        memory.connect(factory=Misspelt)


def test_an_error_of_the_factory_names_the_backend(memory):
    with pytest.raises(InvalidInput, match=r"memory: no such region \(InvalidInput") as caught:
        memory.connect(factory=raising(InvalidInput("no such region")))
    assert caught.value.backend == "memory"


def test_a_foreign_exception_of_the_factory_becomes_internal(memory):
    native = ValueError("bad url")

    with pytest.raises(Internal, match="ValueError: bad url") as caught:
        memory.connect(factory=raising(native))
    assert (caught.value.backend, caught.value.native, caught.value.__cause__) == ("memory", "ValueError", native)


# --- existence -----------------------------------------------------------------------------------------------------


def test_existence_is_answered_by_true_or_false(memory):
    ns = filled(memory.connect())

    assert ns.namespace_exists()
    assert ns.namespace_exists("a$x")
    assert not ns.namespace_exists("a$y")
    assert ns.table_exists("a$two")
    assert not ns.table_exists("a$three")
    assert not ns.table_exists("nowhere$three")


def test_at_a_depth_that_the_catalog_does_not_have_nothing_exists(memory):
    ns = filled(memory.connect())

    assert not ns.namespace_exists("a$x$deep$er")
    assert not ns.table_exists("a$x$deep$er$still")
    assert not ns.table_exists("")


@pytest.mark.parametrize("exists", ["namespace_exists", "table_exists"])
def test_existence_uses_the_backends_own_hook_where_there_is_one(memory, exists):
    missing = NamespaceNotFound if exists == "namespace_exists" else TableNotFound
    answers = {
        exists: lambda request: (
            raising(missing("no"))(request) if request.id == ("no",) else m.REQUESTS[exists].response()
        )
    }
    ns = memory.connect(factory=memory.extended(exists, answers=answers), capabilities=BASIC | {exists})

    assert getattr(ns, exists)("yes") is True
    assert getattr(ns, exists)("no") is False
    assert [each.operation for each in memory.requests(ns)] == [exists, exists]


@pytest.mark.parametrize("exists", ["namespace_exists", "table_exists"])
def test_an_error_that_says_nothing_about_existence_is_raised(memory, exists):
    operation = exists.replace("namespace_exists", "describe_namespace").replace("table_exists", "describe_table")
    for error in (ServiceUnavailable("down"), ValueError("odd")):
        ns = memory.connect(answers={operation: raising(error)})
        with pytest.raises((ServiceUnavailable, Internal)):
            getattr(ns, exists)("t")


def test_a_missing_version_of_a_table_does_not_exist(memory):
    answers = {"table_exists": raising(TableVersionNotFound("no version 9"))}
    ns = memory.connect(
        factory=memory.extended("table_exists", answers=answers),
        capabilities=BASIC | {"table_exists", "table_exists.version"},
    )

    assert ns.table_exists("t", version=9) is False


# --- iterators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 10])
@pytest.mark.parametrize("operation", ["list_namespaces", "list_tables"])
def test_an_iterator_follows_the_pages_to_the_end(memory, operation, size):
    """Whatever the size of the catalog's pages."""
    ns = memory.connect()
    for name in "abcdefg":
        ns.create_namespace(name)
        ns.declare_table(name)
    hook = getattr(ns._implementation, operation).__wrapped__
    ns._implementation.answers = {
        operation: lambda request: hook(ns._implementation, attrs.evolve(request, limit=size))
    }

    assert list(getattr(ns, operation)()) == list("abcdefg")
    assert len([each for each in memory.requests(ns) if each.operation == operation]) == -(-7 // size)


def test_an_iterator_asks_for_a_page_when_it_is_needed(memory):
    pages = {None: (["a"], "1"), "1": ([], "2"), "2": (["b"], None)}
    ns = memory.connect(answers={"list_tables": lambda request: page(*pages[request.page_token])})

    names = ns.list_tables()
    assert memory.requests(ns) == []
    assert next(names) == "a"
    assert len(memory.requests(ns)) == 1
    assert list(names) == ["b"]


def page(tables, page_token):
    return m.ListTablesResponse(tables=tables, page_token=page_token)


def test_an_iterator_refuses_a_page_that_names_itself_as_the_next(memory):
    ns = memory.connect(answers={"list_tables": lambda request: page(["a"], "again")})

    names = ns.list_tables()

    assert [next(names), next(names)] == ["a", "a"]
    with pytest.raises(Internal, match="does not advance") as caught:
        next(names)
    assert caught.value.backend == "memory"


def test_an_error_in_the_middle_of_a_listing_is_raised(memory):
    def answer(request):
        if request.page_token:
            raise ServiceUnavailable("down")
        return page(["a"], "1")

    names = memory.connect(answers={"list_tables": answer}).list_tables()

    assert next(names) == "a"
    with pytest.raises(ServiceUnavailable):
        next(names)


def test_all_tables_are_found_below_any_namespace(memory):
    ns = filled(memory.connect())

    assert list(ns.list_all_tables()) == [
        ("one",),
        ("a", "two"),
        ("a", "x", "three"),
        ("a", "x", "deep", "four"),
    ]
    assert list(ns.list_all_tables("a$x")) == [("a", "x", "three"), ("a", "x", "deep", "four")]
    assert list(ns.list_all_tables("b")) == []


def test_where_a_catalog_has_no_tables_at_a_depth_the_walk_goes_on(memory):
    ns = filled(memory.connect())
    hook = memory.Namespace.list_tables.__wrapped__

    def none_at_the_root(request):
        if not request.id:
            raise InvalidInput("no tables here")
        return hook(ns._implementation, request)

    ns._implementation.answers = {"list_tables": none_at_the_root}

    assert ("a", "two") in list(ns.list_all_tables())


def test_all_tables_of_a_missing_namespace_are_an_error(memory):
    with pytest.raises(NamespaceNotFound):
        list(memory.connect().list_all_tables("nowhere"))


@pytest.mark.parametrize(
    "error", [ServiceUnavailable("down"), InvalidInput("the token was lost"), ValueError("odd")], ids=repr
)
@pytest.mark.parametrize("names", [["a"], []], ids=["after a name", "after an empty page"])
@pytest.mark.parametrize("operation", ["list_tables", "list_namespaces"])
def test_a_walk_never_hides_tables_behind_an_error(memory, operation, names, error):
    """InvalidInput on the first page means that the catalog has no such depth; later it means a failure."""
    field = operation.removeprefix("list_")

    def answer(request):
        if request.page_token:
            raise error
        return m.REQUESTS[operation].response(**{field: names}, page_token="1")

    with pytest.raises(LanceNsError):
        list(memory.connect(answers={operation: answer}).list_all_tables())


def test_pages_of_all_tables_are_built_from_the_walk(memory):
    ns = filled(memory.connect())
    first = derived.serve(ns, m.ListAllTablesRequest(limit=3))
    second = derived.serve(ns, m.ListAllTablesRequest(limit=3, page_token=first.page_token))

    assert first.tables == ["a$two", "a$x$deep$four", "a$x$three"]
    assert (second.tables, second.page_token) == (["one"], None)


def test_dropping_a_table_deregisters_it_and_says_where_its_data_is(memory):
    ns = filled(memory.connect())

    dropped = ns.drop_table("a$two")

    assert (dropped.id, dropped.location) == (("a", "two"), "/lake/a/two")
    assert not ns.table_exists("a$two")


def test_dropping_uses_the_backends_own_hook_where_there_is_one(memory):
    answer = m.DropTableResponse(location="/x")
    factory = memory.extended("drop_table", answers={"drop_table": lambda request: answer})
    ns = memory.connect(factory=factory, capabilities=BASIC | {"drop_table"})

    assert ns.drop_table("t", delete_data=True) is answer
    assert [each.delete_data for each in memory.requests(ns)] == [True]


def test_the_uri_of_a_table_is_its_location(memory):
    ns = filled(memory.connect(root="s3://lake"))

    assert ns.describe_table("a$two", with_table_uri=True).table_uri == "s3://lake/a/two"
    assert ns.describe_table("a$two").table_uri is None


# --- the connection itself -----------------------------------------------------------------------------------------


@each_call
def test_every_call_on_a_closed_connection_is_refused(memory, call):
    ns = filled(memory.connect())
    ns.close()
    memory.requests(ns).clear()

    with pytest.raises(InvalidInput, match="the connection is closed"):
        call(ns, ["t"])
    assert memory.requests(ns) == []


def test_a_connection_is_closed_once_however_often_it_is_closed(memory):
    with memory.connect() as ns:
        assert repr(ns) == "<Namespace memory>"
    ns.close()

    assert ns._implementation.closed == 1
    assert repr(ns) == "<Namespace memory closed>"


def test_a_connection_is_closed_when_its_block_fails(memory):
    ns = memory.connect()
    with pytest.raises(ZeroDivisionError), ns:
        raise ZeroDivisionError

    assert ns._implementation.closed == 1


def test_a_backend_needs_no_close_of_its_own(memory):
    class Endless(Operations):
        @hookimpl
        def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
            return m.DescribeTableResponse()

    ns = memory.connect(factory=lambda config: Endless(), capabilities={"describe_table"})
    ns.close()

    with pytest.raises(InvalidInput, match="closed"):
        ns.describe_table("t")


def test_a_close_that_fails_is_an_error_of_the_taxonomy(memory):
    native = OSError("still in use")

    class Stuck(memory.Namespace):
        def close(self):
            raise native

    ns = memory.connect(factory=Stuck)

    with pytest.raises(Internal, match="OSError: still in use") as caught:
        ns.close()
    assert (caught.value.backend, caught.value.__cause__) == ("memory", native)
    ns.close()


def test_threads_share_a_connection(memory):
    ns = memory.connect()
    barrier, outcomes = threading.Barrier(16), []

    def create(number):
        barrier.wait(60)
        try:
            ns.create_namespace(f"n{number % 4}")
            outcomes.append("created")
        except lance_ns.NamespaceAlreadyExists:
            outcomes.append("exists")

    threads = [threading.Thread(target=create, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(outcomes) == ["created"] * 4 + ["exists"] * 12
    assert list(ns.list_namespaces()) == ["n0", "n1", "n2", "n3"]


# --- pickling ------------------------------------------------------------------------------------------------------


def test_a_connection_pickles_as_its_properties_secrets_included(installed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ns = lance_ns.connect(
        "memory",
        {"storage.secret_key": "s", "client.pool-size": 7, "header.X": "h"},
        root="lake",
        token="t",
        servers=["a", "b"],
        delimiter=".",
    )
    pickled = pickle.dumps(ns)
    monkeypatch.chdir("/")

    again = pickle.loads(pickled)

    config = again._config
    assert (config.token.reveal(), config.storage, config.headers) == ("t", {"secret_key": "s"}, {"X": "h"})
    assert (config.root, config.servers, config.pool_size) == (str(tmp_path / "lake"), ("a", "b"), 7)
    assert again.parse("a.b") == ("a", "b")
    assert again.namespace_id() == ns.namespace_id()


def test_a_closed_connection_pickles_as_an_open_one(installed):
    ns = lance_ns.connect("memory")
    ns.close()

    assert pickle.loads(pickle.dumps(ns)).namespace_exists()


def test_a_copy_is_a_connection_of_its_own(installed):
    ns = lance_ns.connect("memory")
    copied = copy.copy(ns)
    ns.close()

    assert copied.namespace_exists()


def test_middleware_pickles_by_its_name(installed):
    ns = lance_ns.connect("memory", plugins=["audit"])

    assert b"lance_ns.audit" not in pickle.dumps(ns)
    assert pickle.loads(pickle.dumps(ns))._plugins == ("audit",)


def test_middleware_that_cannot_be_pickled_fails_loudly(installed):
    def local(request):
        return (yield)

    ns = lance_ns.connect("memory", plugins=[lance_ns.around(local)])

    with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match="local"):
        pickle.dumps(ns)


def test_a_pickle_of_a_backend_that_is_not_installed_says_which(installed, monkeypatch):
    pickled = pickle.dumps(lance_ns.connect("memory"))
    monkeypatch.undo()

    with pytest.raises(InvalidInput, match="backend 'memory' is not installed"):
        pickle.loads(pickled)


# --- the key of a connection ---------------------------------------------------------------------------------------


def test_equal_connections_have_equal_keys(memory):
    given = {"token": "t", "storage.region": "eu", "servers": "a,b"}

    assert memory.connect(**given).namespace_id() == memory.connect(**given).namespace_id()
    assert memory.connect(retries="3").namespace_id() == memory.connect().namespace_id()


def test_connections_that_differ_in_any_property_have_different_keys(memory):
    differences = [
        {},
        {"endpoint": "memory://there"},
        {"root": "/other"},
        {"token": "t"},
        {"token": "u"},
        {"password": "t"},
        {"retries": 4},
        {"rate": 2},
        {"strict": True},
        {"servers": "a,b"},
        {"servers": ("a,b",)},
        {"style": "fancy"},
        {"client.pool-size": 5},
        {"storage.key": "t"},
        {"storage.key": "u"},
        {"storage.other": "t"},
        {"header.key": "t"},
        {"storage.key": "t', 'x"},
    ]

    assert len({memory.connect(**each).namespace_id() for each in differences}) == len(differences)


def test_a_key_names_the_backend_and_nothing_else(memory):
    key = memory.connect(token="canary").namespace_id()

    assert key.startswith("lance-ns:memory:")
    assert set(key.rpartition(":")[2]) <= set("0123456789abcdef")


def test_a_key_cannot_be_guessed_from_outside_of_the_process(run_python):
    """Another process gives the same connection another key: what leaks helps nobody to try passwords."""
    script = dedent("""
        from lance_ns.config import StorageProperties
        from lance_ns.hookspecs import Backend, Operations
        from lance_ns.namespace import Namespace

        backend = Backend(name="x", summary="", hookspec=1, config=StorageProperties, capabilities=(),
                          factory=lambda config: Operations())
        print(Namespace(backend, StorageProperties()).namespace_id())
    """)

    assert run_python(script) != run_python(script)
