"""One call: a token, a deadline, repetitions where they are safe, and a typed error when it fails."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import attrs

from lance_ns.config import HIDDEN, Hidden
from lance_ns.errors import Internal, LanceNsError, ServiceUnavailable, Unsupported
from lance_ns.perprocess import PerProcess
from lance_ns.rest.dialect import Dialect, Kinds
from lance_ns.rest.retrying import BUSY, REPEATABLE, UNREACHED, Deadline, asked_to_wait, pause
from lance_ns.rest.tokens import Fixed, TokenSource
from lance_ns.rest.transport import Tls, origin, parsed, pool_of

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool

    from lance_ns.models import Request

LARGEST_ANSWER = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
_REFUSED = frozenset({401, 419})
_MOVED = frozenset({301, 302, 303, 307, 308})
_MOST_MOVES = 3


def segment(name: str) -> str:
    """A name as one segment of a path: whatever it contains, it leads nowhere else."""
    return quote(name, safe="")


@attrs.frozen
class Answer:
    """What a server said: the status, the decoded body, and whether the call had been sent before."""

    status: int
    body: Any = None
    sent_before: bool = False


@attrs.frozen(kw_only=True)
class Settings:
    """How a client calls."""

    connect_seconds: float
    read_seconds: float
    operation_seconds: float
    retries: int
    connections: int = 16
    tls: Tls = attrs.field(factory=Tls)
    headers: Mapping[str, str] = attrs.field(factory=Hidden)


@attrs.frozen
class _Operation:
    deadline: Deadline
    token: str | None


_operation: ContextVar[_Operation | None] = ContextVar("lance_ns.rest.operation", default=None)


class RestClient:
    """Calls one server. Threads share it; a forked child opens connections of its own."""

    def __init__(
        self,
        endpoint: str,
        dialect: Dialect,
        settings: Settings,
        tokens: TokenSource | None = None,
    ) -> None:
        url = parsed(endpoint)
        self.endpoint = endpoint.rstrip("/")
        self._base = (url.path or "").rstrip("/")
        self._origin = origin(url)
        self._dialect = dialect
        self._settings = settings
        self._tokens: TokenSource = tokens or Fixed()
        self._pool: PerProcess[HTTPConnectionPool] = PerProcess(
            lambda: pool_of(url, tls=settings.tls, connections=settings.connections), lambda pool: pool.close()
        )

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    @contextmanager
    def operation(self, request: "Request[Any]") -> Generator[None]:
        """All calls made within share one deadline, and use the token that the request brings."""
        token = request.identity.auth_token if request.identity else None
        if request.identity and request.identity.api_key:
            raise Unsupported("an api_key cannot be sent to this catalog", hint="give an auth_token, or neither")
        mark = _operation.set(_Operation(Deadline.after(self._settings.operation_seconds), token))
        try:
            yield
        finally:
            _operation.reset(mark)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json_body: Any = None,
        form: Mapping[str, str] | None = None,
        meaning: Kinds | None = None,
        answers: bool = True,
        settle: Callable[[], Any] | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a call and decode the answer.

        Args:
            method: the HTTP method.
            path: below the endpoint, its segments encoded.
            query: parameters; a blank one is sent.
            json_body: the body, sent as JSON.
            form: the body, sent as a form.
            meaning: what error names and statuses mean for this call.
            answers: whether a success has a JSON body.
            settle: reads back what a call did whose outcome is unknown: the body that it would have had, or None if it
                had no effect. Without it such a call fails.
            idempotency_key: makes a POST safe to repeat, on servers that know it.
            headers: further headers of this call.

        Raises:
            LanceNsError: the call failed; its class is what the server's answer means.
        """
        call = _Call(
            method=method,
            target=self._base + path + (f"?{urlencode(query)}" if query else ""),
            body=_encoded(json_body, form),
            headers=self._headers(json_body, form, idempotency_key, headers),
            meaning=meaning or {},
            answers=answers and method != "HEAD",
            repeatable=method in REPEATABLE or idempotency_key is not None,
        )
        within = _operation.get() or _Operation(Deadline.after(self._settings.operation_seconds), None)
        try:
            return self._repeated(call, within)
        except _OutcomeUnknown as unknown:
            found = settle() if settle else None
            if found is None:
                raise unknown.error from unknown.error.__cause__
            return Answer(200, found, sent_before=True)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _headers(
        self, json_body: Any, form: Any, idempotency_key: str | None, more: Mapping[str, str] | None
    ) -> dict[str, str]:
        found = Hidden({"Accept": "application/json", "User-Agent": _user_agent(), **self._settings.headers})
        if json_body is not None:
            found["Content-Type"] = "application/json"
        elif form is not None:
            found["Content-Type"] = "application/x-www-form-urlencoded"
        if idempotency_key:
            found["Idempotency-Key"] = idempotency_key
        return found | (more or {})

    def _repeated(self, call: "_Call", within: _Operation) -> Answer:
        """Send a call until it is answered, as often as is safe and allowed."""
        attempt = 0
        renewed = sent_before = False
        while True:
            token = within.token or self._tokens.token()
            failure = self._sent(call, token, within.deadline)
            if isinstance(failure, _Response):
                response = failure
                if response.status in _REFUSED and token and not within.token and not renewed:
                    renewed = True
                    if self._tokens.renewed(token):
                        continue
                if response.status == 404 and call.method == "DELETE" and sent_before:
                    return Answer(404, None, sent_before)  # the first one, whose answer was lost, has done it
                outcome = self._judged(call, response, token)
                if isinstance(outcome, Answer):
                    return attrs.evolve(outcome, sent_before=sent_before)
                failure = outcome
            sent_before = sent_before or failure.reached
            if failure.reached and not call.repeatable:
                raise _OutcomeUnknown(failure.error)
            if attempt >= self._settings.retries or not pause(attempt, failure.error.retry_after, within.deadline):
                raise failure.error
            attempt += 1

    def _sent(self, call: "_Call", token: str | None, deadline: Deadline) -> "_Response | _Failure":
        """Send a call once: its answer, or how it failed and whether the server may have got it."""
        from urllib3 import Timeout, exceptions

        headers = call.headers if token is None else call.headers | {"Authorization": f"Bearer {token}"}
        target = call.target
        for _ in range(_MOST_MOVES + 1):
            left = deadline.left()
            timeout = Timeout(
                connect=min(self._settings.connect_seconds, left), read=min(self._settings.read_seconds, left)
            )
            try:
                raw = self._pool().urlopen(
                    call.method,
                    target,
                    body=call.body,
                    headers=headers,
                    timeout=timeout,
                    retries=False,
                    redirect=False,
                    assert_same_host=False,
                    preload_content=False,
                )
                response = _read(raw, deadline)
            except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError, exceptions.ProxyError) as error:
                return _Failure(self._unreachable(error, "cannot be reached"), reached=False)
            except exceptions.SSLError as error:
                raise self._unreachable(error, "is not trusted, or does not trust us") from error
            except exceptions.TimeoutError as error:
                return _Failure(self._unreachable(error, "did not answer in time"), reached=True)
            except (exceptions.HTTPError, OSError) as error:
                return _Failure(self._unreachable(error, "ended the connection"), reached=True)
            if response.status not in _MOVED:
                return response
            target = self._moved(call, response)
        raise Internal("the server keeps redirecting", hint=f"check the endpoint {self.endpoint}")

    def _judged(self, call: "_Call", response: "_Response", token: str | None) -> "Answer | _Failure":
        """What an answer is: a success, a failure after which the call may be sent again, or an error."""
        if response.status < 300:
            try:
                return Answer(response.status, call.decoded(response))
            except Internal as not_an_answer:
                return _Failure(not_an_answer, reached=True)
        error = self._error(call, response, token)
        if response.status in BUSY:
            error.retry_after = asked_to_wait(response.headers.get("Retry-After"))
            return _Failure(error, reached=response.status in UNREACHED)
        raise error

    def _moved(self, call: "_Call", response: "_Response") -> str:
        """Where a redirect leads: only on this very server, where the credentials belong."""
        from urllib.parse import urljoin

        from urllib3.exceptions import LocationParseError
        from urllib3.util import parse_url

        where = urljoin(f"{self.endpoint}/", response.headers.get("Location", ""))
        try:
            url = parse_url(where)
        except LocationParseError:
            url = None
        if url is None or origin(url) != self._origin or call.method not in ("GET", "HEAD"):
            raise Internal(
                f"the server redirects to {where}, and credentials are not sent there",
                native=f"HTTP {response.status}",
                hint="name that address as the endpoint, if it is the right one",
            )
        return url.request_uri

    def _error(self, call: "_Call", response: "_Response", token: str | None) -> LanceNsError:
        text = response.data.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        error = self._dialect.error(response.status, body, text, call.meaning)
        return error.rewritten(lambda each: each.replace(token, HIDDEN)) if token else error

    def _unreachable(self, cause: Exception, what: str) -> ServiceUnavailable:
        error = ServiceUnavailable(
            f"{self.endpoint} {what}",
            native=type(cause).__name__,
            hint="check that the server runs and that 'endpoint' is right",
        )
        error.__cause__ = cause
        return error


@attrs.frozen(kw_only=True)
class _Call:
    method: str
    target: str
    body: bytes | None = attrs.field(repr=False)
    headers: dict[str, str]
    meaning: Kinds
    answers: bool
    repeatable: bool

    def decoded(self, response: "_Response") -> Any:
        """The body of a success.

        Raises:
            Internal: it is not what a catalog answers.
        """
        content = response.data
        is_page = content.lstrip()[:1] == b"<" or "html" in response.headers.get("Content-Type", "")
        if not self.answers and not is_page:
            return None
        try:
            if not is_page:
                return json.loads(content)
        except ValueError:
            pass
        shown = "a page for people" if is_page else "something that is not JSON" if content else "nothing"
        raise Internal(
            f"the server answered {self.method} with success and {shown}",
            hint="check that 'endpoint' names the catalog itself, not a page or a proxy in front of it",
        )


@attrs.frozen
class _Response:
    status: int
    headers: Mapping[str, str]
    data: bytes


@attrs.frozen
class _Failure:
    error: LanceNsError
    reached: bool


class _OutcomeUnknown(Exception):
    """The call was sent, no answer says what became of it, and it may not be repeated."""

    def __init__(self, error: LanceNsError) -> None:
        super().__init__(str(error))
        self.error = error


def _encoded(json_body: Any, form: Mapping[str, str] | None) -> bytes | None:
    if json_body is not None:
        return json.dumps(json_body, ensure_ascii=False, separators=(",", ":")).encode()
    return urlencode(form).encode() if form is not None else None


def _read(raw: "BaseHTTPResponse", deadline: Deadline) -> _Response:
    """The whole answer, as long as it is not too large and comes in time."""
    parts: list[bytes] = []
    size = 0
    try:
        while chunk := raw.read(_CHUNK, decode_content=True):
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise Internal(f"the answer is larger than {LARGEST_ANSWER // 2**20} MiB", hint="ask for fewer at once")
            parts.append(chunk)
            deadline.left()
    except BaseException:
        raw.close()
        raise
    finally:
        raw.release_conn()
    return _Response(raw.status, raw.headers, b"".join(parts))


def _user_agent() -> str:
    from lance_ns.version import __version__

    return f"lance-ns/{__version__}"
