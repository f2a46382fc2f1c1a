"""OpenTelemetry: a span for every operation, by the extra `otel`.

Switched on by name: `connect(…, plugins=["otel"])`. Spans carry operation, identifier and error code, and no
property of the connection.
"""

from collections.abc import Generator
from typing import Any

from opentelemetry import trace

from lance_ns.errors import LanceNsError
from lance_ns.identifiers import display
from lance_ns.middleware import around
from lance_ns.models import Request, Response
from lance_ns.version import __version__


def _traced(request: Request[Any]) -> Generator[None, Response, Response]:
    tracer = trace.get_tracer("lance_ns", __version__)
    with tracer.start_as_current_span(
        f"lance_ns.{request.operation}",
        kind=trace.SpanKind.CLIENT,
        attributes={"db.system": "lance", "db.operation.name": request.operation, "lance_ns.id": display(request.id)},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            return (yield)
        except LanceNsError as error:
            span.set_attribute("lance_ns.error_code", int(error.code))
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise
        except Exception as error:
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


otel = around(_traced)
