"""Middleware: what stands around the operations, in which order, and what may not stand there."""

import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import lance_ns
from lance_ns import models as m
from lance_ns.capabilities import OPERATIONS
from lance_ns.errors import Internal, InvalidInput, PermissionDenied, TableNotFound, Unauthenticated, Unsupported
from lance_ns.hookspecs import hookimpl
from lance_ns.middleware import around


def noting(seen, name):
    """A middleware that notes when it is entered and left."""

    def wrapper(request):
        seen.append(f"{name} before {request.operation}")
        try:
            return (yield)
        finally:
            seen.append(f"{name} after {request.operation}")

    return around(wrapper)


# --- around the calls ----------------------------------------------------------------------------------------------


def test_the_first_middleware_is_innermost(memory):
    seen = []
    ns = memory.connect(
        plugins=[noting(seen, "inner"), noting(seen, "outer")],
        answers={"describe_table": lambda request: seen.append("backend") or m.DescribeTableResponse()},
    )

    ns.describe_table("t")

    assert seen == [
        "outer before describe_table",
        "inner before describe_table",
        "backend",
        "inner after describe_table",
        "outer after describe_table",
    ]


def test_around_wraps_every_operation():
    assert set(vars(around(lambda request: (yield)))) == OPERATIONS


def test_every_basic_call_passes_through_the_middleware(memory):
    seen = []
    ns = memory.connect(plugins=[noting(seen, "x")])

    ns.create_namespace("a")
    ns.declare_table("a$t")
    assert (list(ns.list_namespaces()), list(ns.list_tables("a"))) == (["a"], ["t"])
    ns.describe_namespace("a")
    ns.describe_table("a$t")
    ns.deregister_table("a$t")
    ns.drop_namespace("a")

    assert [each.split()[2] for each in seen[::2]] == [
        "create_namespace",
        "declare_table",
        "list_namespaces",
        "list_tables",
        "describe_namespace",
        "describe_table",
        "deregister_table",
        "drop_namespace",
    ]


def test_a_call_that_is_built_passes_as_the_calls_that_it_is_built_of(memory):
    seen = []
    ns = memory.connect(plugins=[noting(seen, "x")])

    ns.table_exists("t")

    assert seen == ["x before describe_table", "x after describe_table"]


def test_what_is_unsupported_never_reaches_the_middleware(memory):
    seen = []
    ns = memory.connect(plugins=[noting(seen, "x")])

    with pytest.raises(Unsupported):
        ns.rename_table("t", "u")
    assert seen == []


def test_a_middleware_for_some_operations_leaves_the_others_alone(memory):
    seen = []

    class Audit:
        @hookimpl(wrapper=True)
        def drop_namespace(self, request):
            seen.append(request.id)
            return (yield)

    ns = memory.connect(plugins=[Audit()])
    ns.create_namespace("a")
    ns.drop_namespace("a")

    assert seen == [("a",)]


def test_a_middleware_sees_errors_and_may_translate_them(memory):
    seen = []

    def translating(request):
        try:
            return (yield)
        except PermissionDenied as error:
            seen.append(error)
            raise Unauthenticated("who are you?") from error

    def denied(request):
        raise PermissionDenied("no")

    ns = memory.connect(plugins=[around(translating)], answers={"describe_table": denied})

    with pytest.raises(Unauthenticated) as caught:
        ns.describe_table("a$t")
    assert caught.value.__cause__ is seen[0]
    assert (caught.value.backend, caught.value.operation, caught.value.identifier) == (
        "memory",
        "describe_table",
        ("a", "t"),
    )


def test_a_middleware_may_see_a_foreign_exception_before_it_is_internal(memory):
    seen = []

    def watching(request):
        try:
            return (yield)
        except ValueError as error:
            seen.append(error)
            raise

    def odd(request):
        raise ValueError("odd")

    ns = memory.connect(plugins=[around(watching)], answers={"describe_table": odd})

    with pytest.raises(Internal):
        ns.describe_table("t")
    assert len(seen) == 1


def test_a_middleware_may_return_another_response(memory):
    def relocating(request):
        yield
        return m.DescribeTableResponse(location="/elsewhere")

    class Relocating:
        describe_table = staticmethod(hookimpl(wrapper=True)(relocating))

    ns = memory.connect(plugins=[Relocating()])
    ns.declare_table("t")

    assert ns.describe_table("t").location == "/elsewhere"


@pytest.mark.parametrize(
    "wrapper",
    [
        pytest.param(lambda request: (yield) and None, id="nothing"),
        pytest.param(lambda request: (yield) and "text", id="text"),
    ],
)
def test_what_a_middleware_returns_is_checked_like_any_answer(memory, wrapper):
    ns = memory.connect(
        plugins=[around(wrapper)], answers={"describe_table": lambda request: m.DescribeTableResponse()}
    )

    with pytest.raises(Internal, match="describe_table answered"):
        ns.describe_table("t")


def test_a_middleware_cannot_repeat_a_call(memory):
    def twice(request):
        yield
        return (yield)

    ns = memory.connect(plugins=[around(twice)])

    with pytest.raises(Internal, match="list_tables failed unexpectedly"):
        list(ns.list_tables())
    assert len(memory.requests(ns)) == 1


def test_an_error_of_a_middleware_is_an_error_of_the_call(memory):
    def broken(request):
        yield
        raise ZeroDivisionError("in the middleware")

    ns = memory.connect(plugins=[around(broken)])

    with pytest.raises(Internal, match="ZeroDivisionError: in the middleware"):
        ns.list_tables_page()


# --- what may not stand there --------------------------------------------------------------------------------------


def test_what_would_answer_in_place_of_the_backend_is_refused(memory):
    class Cache:
        @hookimpl
        def describe_table(self, request):
            return m.DescribeTableResponse()

        @hookimpl(tryfirst=True)
        def list_tables(self, request):
            return m.ListTablesResponse(tables=[])

    with pytest.raises(
        InvalidInput, match="Cache is no middleware: describe_table, list_tables would answer"
    ) as caught:
        memory.connect(plugins=[Cache()])
    assert "wrapper=True" in caught.value.hint


@pytest.mark.parametrize("thing", [object(), 5, None, noting, logging], ids=lambda thing: str(thing)[:12])
def test_an_object_without_hooks_is_refused(memory, thing):
    with pytest.raises(InvalidInput, match="is no middleware: it has no hooks"):
        memory.connect(plugins=[thing])


def test_a_misspelt_hook_is_refused_by_name(memory):
    class Misspelt:
        @hookimpl(wrapper=True)
        def describe_tabel(self, request):
            return (yield)

    with pytest.raises(InvalidInput, match="describe_tabel"):
        memory.connect(plugins=[Misspelt()])


def test_a_hook_of_a_newer_core_may_be_marked_as_optional(memory):
    class Ahead:
        @hookimpl(wrapper=True, optionalhook=True)
        def fly_table(self, request):
            return (yield)

    assert memory.connect(plugins=[Ahead()]).namespace_exists()


def test_a_wrapper_that_never_yields_is_refused_at_connect(memory):
    class Straight:
        @hookimpl(wrapper=True)
        def describe_table(self, request):
            return m.DescribeTableResponse()

    with pytest.raises(InvalidInput, match="describe_table"):
        memory.connect(plugins=[Straight()])


def test_a_wrapper_with_another_argument_is_refused_at_connect(memory):
    class Misnamed:
        @hookimpl(wrapper=True)
        def describe_table(self, the_request):
            return (yield)

    with pytest.raises(InvalidInput, match="the_request"):
        memory.connect(plugins=[Misnamed()])


def test_the_same_middleware_twice_is_refused(memory):
    middleware = noting([], "x")

    with pytest.raises(InvalidInput, match=r"twice|already"):
        memory.connect(plugins=[middleware, middleware])


def test_a_string_of_names_is_not_taken_for_a_list_of_them(installed):
    with pytest.raises(InvalidInput):
        lance_ns.connect("memory", plugins="audit")


# --- by name -------------------------------------------------------------------------------------------------------


def test_an_unknown_middleware_is_refused_with_the_installed_ones(memory):
    with pytest.raises(InvalidInput, match=r"nothing installed gives 'adit'.*audit, otel"):
        memory.connect(plugins=["adit"])


def test_the_audit_log_has_a_line_for_every_operation_with_its_outcome(memory, caplog):
    caplog.set_level(logging.INFO, logger="lance_ns.audit")
    ns = memory.connect(plugins=["audit"], answers={"deregister_table": lambda request: 1 / 0})

    ns.create_namespace("ml")
    with pytest.raises(TableNotFound):
        ns.describe_table("ml$docs")
    with pytest.raises(Internal):
        ns.deregister_table("ml$docs")
    list(ns.list_tables())

    lines = [(record.name, record.levelname, *record.getMessage().rsplit(" ", 2)) for record in caplog.records]
    assert [line[:3] for line in lines] == [
        ("lance_ns.audit", "INFO", "create_namespace ml ok"),
        ("lance_ns.audit", "INFO", "describe_table ml$docs TableNotFound (4)"),
        ("lance_ns.audit", "INFO", "deregister_table ml$docs ZeroDivisionError"),
        ("lance_ns.audit", "INFO", "list_tables (root) ok"),
    ]
    assert all(float(milliseconds) >= 0 and unit == "ms" for *_, milliseconds, unit in lines)


@pytest.fixture
def spans(monkeypatch):
    """What an OpenTelemetry exporter in memory receives."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


def test_a_span_is_traced_for_every_operation(memory, spans):
    ns = memory.connect(plugins=["otel"])

    ns.create_namespace("ml")

    (span,) = spans()
    assert (span.name, span.kind) == ("lance_ns.create_namespace", trace.SpanKind.CLIENT)
    assert span.attributes["db.operation.name"] == "create_namespace"
    assert span.attributes["lance_ns.id"] == "ml"
    assert span.status.status_code is trace.StatusCode.UNSET
    assert span.instrumentation_scope.name == "lance_ns"


def test_a_span_of_an_error_has_its_code_and_class_but_not_its_text(memory, spans):
    def odd(request):
        raise ValueError("canary")

    ns = memory.connect(plugins=["otel"], answers={"list_tables": odd})

    with pytest.raises(TableNotFound):
        ns.describe_table("ml$docs")
    with pytest.raises(Internal):
        list(ns.list_tables("ml"))

    typed, foreign = spans()
    assert (typed.status.status_code, typed.status.description) == (trace.StatusCode.ERROR, "TableNotFound")
    assert typed.attributes["lance_ns.error_code"] == 4
    assert (foreign.status.status_code, foreign.status.description) == (trace.StatusCode.ERROR, "ValueError")
    assert "canary" not in typed.to_json() + foreign.to_json()
    assert (typed.events, foreign.events) == ((), ())


def test_spans_of_calls_inside_of_a_traced_block_are_its_children(memory, spans):
    ns = memory.connect(plugins=["otel"])

    with trace.get_tracer("test").start_as_current_span("job"):
        ns.create_namespace("ml")

    child, parent = spans()
    assert child.parent.span_id == parent.context.span_id


def test_a_call_inside_of_a_middleware_is_allowed(memory):
    """A middleware may use another connection while it waits."""
    other = memory.connect()

    def checking(request):
        other.describe_namespace()
        return (yield)

    ns = memory.connect(plugins=[around(checking)])
    ns.create_namespace("a")

    assert [each.operation for each in memory.requests(other)] == ["describe_namespace"]
