"""One call: a token, a deadline, repetitions where they are safe, and a typed error when it fails."""

import json
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode, urljoin

import attrs

from lance_ns.config import Hidden, Redactor, Secret
from lance_ns.errors import Internal, InvalidInput, LanceNsError, ServiceUnavailable, Unauthenticated, Unsupported
from lance_ns.perprocess import PerProcess
from lance_ns.rest.dialect import Dialect, Kinds, shortened
from lance_ns.rest.retrying import BUSY, REPEATABLE, UNREACHED, Deadline, asked_to_wait, pause
from lance_ns.rest.tokens import Fixed, Form, TokenSource
from lance_ns.rest.transport import Line, Response, Unreached, line_to, origin, parsed, sendable, split
from lance_ns.tls import Tls
from lance_ns.version import __version__

if TYPE_CHECKING:
    from lance_ns.models import Request

_REFUSED = frozenset({401, 419})
_MOVED = frozenset({301, 302, 303, 307, 308})
_MOST_MOVES = 3
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEADER_VALUE = r"[\t\x20-\x7e\xa0-\xff]*"
_VISIBLE = r"[\x21-\x7e]+"


def segment(name: str) -> str:
    """A name as one segment of a path: whatever it contains, it leads nowhere else.

    Raises:
        InvalidInput: it is no segment at all, but the way to another one.
    """
    if name in ("", ".", ".."):
        raise InvalidInput(f"{name!r} cannot be addressed")
    return quote(name, safe="")


class Answer(NamedTuple):
    """What a server said: the status, and the decoded body."""

    status: int
    body: Any = None

    def __repr__(self) -> str:
        return f"Answer({self.status})"  # the body may hold tokens and vended credentials


@attrs.frozen(kw_only=True)
class Settings:
    """How a client calls."""

    connect_seconds: float
    read_seconds: float
    operation_seconds: float
    retries: int
    connections: int = 16
    tls: Tls = attrs.field(factory=Tls)
    headers: Mapping[str, str] = attrs.field(factory=Hidden, converter=Hidden)


class _Operation(NamedTuple):
    client: "RestClient"
    deadline: Deadline
    token: Secret | None


_operation: ContextVar[_Operation | None] = ContextVar("lance_ns.rest.operation", default=None)


class RestClient:
    """Calls one server. Threads share it; a forked child opens connections of its own.

    Raises:
        InvalidInput: the URL, which the property `what` holds, a header, a certificate or the environment's proxy
            cannot be used.
    """

    def __init__(
        self,
        endpoint: str,
        dialect: Dialect,
        settings: Settings,
        tokens: TokenSource | None = None,
        *,
        what: str = "endpoint",
    ) -> None:
        url = parsed(endpoint, what)
        self.endpoint = endpoint.rstrip("/")
        self._site = f"{url.scheme}://{url.netloc}"
        self._base = url.path.rstrip("/")
        self._origin = origin(url)
        self._dialect = dialect
        self._settings = settings
        self._headers = _common_headers(settings.headers)
        self._tokens: TokenSource = tokens or Fixed()
        self._line: PerProcess[Line] = PerProcess(
            lambda: line_to(
                url,
                tls=settings.tls,
                connections=settings.connections,
                connect_seconds=settings.connect_seconds,
                read_seconds=settings.read_seconds,
            ),
            Line.close,
        )
        self._line()  # what is wrong with certificates or the proxy is said now, not by the first call

    def close(self) -> None:
        """Close the connections."""
        self._line.close()
        self._tokens.close()

    @contextmanager
    def operation(self, request: "Request[Any]") -> Generator[None]:
        """All calls made within share one deadline, and use the token that the request brings."""
        identity = request.identity
        if identity and identity.api_key:
            raise Unsupported("an api_key cannot be sent to this catalog", hint="give an auth_token, or neither")
        token = Secret(identity.auth_token) if identity and identity.auth_token is not None else None
        mark = _operation.set(_Operation(self, Deadline.after(self._settings.operation_seconds), token))
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
        form: Form | None = None,
        meaning: Kinds | None = None,
        answers: bool = True,
        repeatable: bool = False,
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
            form: the body, sent as a form; errors never show a Secret of it.
            meaning: what error names and statuses mean for this call.
            answers: whether a success has a JSON body.
            repeatable: whether a POST does no harm when it is sent twice.
            settle: reads back what a call did whose outcome is unknown: the body that it would have had, or None if it
                had no effect. Without it such a call fails.
            idempotency_key: makes a POST safe to repeat, on servers that know it.
            headers: further headers of this call.

        Raises:
            LanceNsError: the call failed; its class is what the server's answer means.
        """
        own = Hidden(headers or {})
        if json_body is not None or form is not None:
            own["Content-Type"] = "application/json" if form is None else "application/x-www-form-urlencoded"
        if idempotency_key:
            own["Idempotency-Key"] = idempotency_key
        call = _Call(
            method=method,
            target=sendable(self._base + path) + (f"?{urlencode(query)}" if query else ""),
            body=_encoded(json_body, form),
            secrets=[each for each in (form or {}).values() if isinstance(each, Secret)],
            headers=self._headers | own,
            meaning=meaning or {},
            answers=answers and method != "HEAD",
            repeatable=repeatable or method in REPEATABLE or idempotency_key is not None,
        )
        within = _operation.get() or _Operation(self, Deadline.after(self._settings.operation_seconds), None)
        try:
            # An operation's token is for its own server, never for the one that gives tokens.
            return self._repeated(call, within.deadline, within.token if within.client is self else None)
        except _OutcomeUnknown as unknown:
            found = settle() if settle else None
            if found is None:
                raise unknown.error from None
            return Answer(200, found)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _repeated(self, call: "_Call", deadline: Deadline, given: Secret | None) -> Answer:
        """Send a call until it is answered, as often as is safe and allowed."""
        attempt = 0
        renewed = sent_before = False
        while True:
            token = given or self._tokens.token()
            outcome: Response | Answer | _Failure = self._sent(call, token, deadline)
            if isinstance(outcome, Response):
                if outcome.status in _REFUSED and token and not given:
                    if self._tokens.token() != token:
                        continue  # another thread has had it replaced since
                    if not renewed and self._tokens.renewed(token):
                        renewed = True
                        continue
                outcome = self._judged(call, outcome, token, sent_before)
            if isinstance(outcome, Answer):
                return outcome
            sent_before = sent_before or outcome.reached
            safe = outcome.passing and (call.repeatable or not outcome.reached)
            if not safe or attempt >= self._settings.retries or not pause(attempt, outcome.error.retry_after, deadline):
                raise _OutcomeUnknown(outcome.error) if sent_before else outcome.error
            attempt, renewed = attempt + 1, False

    def _sent(self, call: "_Call", token: Secret | None, deadline: Deadline) -> "Response | _Failure":
        """Send a call once: its answer, or how it failed and whether the server may have got it."""
        headers = call.headers if token is None else call.headers | {"Authorization": _bearer(token)}
        target = call.target
        for _ in range(_MOST_MOVES + 1):
            response = self._exchanged(call, target, headers, token, deadline)
            if isinstance(response, _Failure) or response.status not in _MOVED:
                return response
            moved = self._moved(call, target, response)
            if moved is None:
                raise self._astray(call, response, token)
            target = moved
        raise Internal("the server keeps redirecting", hint=f"check the endpoint {self.endpoint}")

    def _exchanged(
        self, call: "_Call", target: str, headers: Hidden, token: Secret | None, deadline: Deadline
    ) -> "Response | _Failure":
        """One request and its answer."""
        try:
            return self._line().exchanged(call.method, target, call.body, headers, deadline)
        except LanceNsError:
            raise
        except Exception as error:  # noqa: BLE001  # none may leave with its frames: they hold headers, and so tokens
            failure = self._failure(error)
        failure.error.rewritten(call.redactor(token))
        return failure

    def _failure(self, cause: Exception) -> "_Failure":
        """What a call that was not answered failed of, and whether the server may have got it."""
        import ssl
        from http.client import HTTPException

        root = cause.__cause__ or cause
        ended = ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError
        hint = "check that the server runs and that 'endpoint' is right"
        passing, reached = True, False
        if isinstance(root, ssl.SSLError) and not isinstance(root, ended):
            what, passing = "is not trusted, or does not trust us", False
            hint = "check 'ca_bundle', 'client_certificate' and the name in 'endpoint'"
        elif isinstance(cause, Unreached):
            what = "cannot be reached"
        elif isinstance(cause, TimeoutError):
            what, reached = "did not answer in time", True
        elif isinstance(cause, OSError | HTTPException):
            what, reached = "ended the connection", True
        else:
            error = Internal(f"the call failed unexpectedly: {root}", native=type(root).__name__)
            return _Failure(error, reached=True, passing=False)
        return _Failure(
            ServiceUnavailable(
                f"{self.endpoint} {what}: {root}", native=type(root).__name__, hint=hint, retryable=passing
            ),
            reached=reached,
            passing=passing,
        )

    def _judged(
        self, call: "_Call", response: Response, token: Secret | None, sent_before: bool
    ) -> "Answer | _Failure":
        """What an answer is: a success, or a failure, after which the call may be sent again if that passes."""
        if response.status < 300:
            return call.answer(response)
        if response.status == 404 and call.method == "DELETE" and sent_before:
            return Answer(404)  # the first one, whose answer was lost, has done it
        error = self._error(call, response, token)
        if response.status not in BUSY:
            return _Failure(error, reached=False, passing=False)
        error.retry_after = asked_to_wait(response.headers.get("Retry-After"))
        return _Failure(error, reached=response.status in UNREACHED)

    def _moved(self, call: "_Call", target: str, response: Response) -> str | None:
        """Where a redirect leads, None unless it is on this very server, where the credentials belong."""
        try:
            url = split(urljoin(self._site + target, response.headers.get("Location", "")))
        except ValueError:
            return None
        if url is None or origin(url) != self._origin or call.method not in ("GET", "HEAD"):
            return None
        return sendable(f"{url.path or '/'}?{url.query}" if url.query else url.path or "/")

    def _astray(self, call: "_Call", response: Response, token: Secret | None) -> LanceNsError:
        return Internal(
            f"the server redirects to {response.headers.get('Location')}, and credentials are not sent there",
            native=f"HTTP {response.status}",
            hint="name that address as the endpoint, if it is the right one",
        ).rewritten(call.redactor(token))

    def _error(self, call: "_Call", response: Response, token: Secret | None) -> LanceNsError:
        text = response.data.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        return self._dialect.error(response.status, body, text, call.meaning).rewritten(call.redactor(token))


class _Call(NamedTuple):
    method: str
    target: str
    body: bytes | None
    secrets: list[Secret]
    headers: Hidden
    meaning: Kinds
    answers: bool
    repeatable: bool

    def __repr__(self) -> str:
        return f"_Call({self.method} {self.target})"  # the body may hold secrets

    def redactor(self, token: Secret | None) -> Callable[[str], str]:
        """Makes a server's words fit to be shown: without what was sent in secret, and not too many."""
        redact = _redactor((*self.secrets, token) if token else (*self.secrets,))
        return lambda text: shortened(redact(text))

    def answer(self, response: Response) -> "Answer | _Failure":
        """What a success says, or a failure if it is not what a catalog answers."""
        content = response.data
        is_page = content.lstrip()[:1] == b"<" or "html" in response.headers.get("Content-Type", "")
        try:
            if not is_page:
                return Answer(response.status, json.loads(content) if self.answers else None)
        except (ValueError, RecursionError):
            pass
        shown = "a page for people" if is_page else "something that is not JSON" if content else "nothing"
        error = Internal(
            f"the server answered {self.method} with success and {shown}",
            hint="check that 'endpoint' names the catalog itself, not a page or a proxy in front of it",
        )
        return _Failure(error, reached=True)


class _Failure(NamedTuple):
    """A call that did not succeed.

    Attributes:
        error: what it is for the user.
        reached: whether the server may have done what it was asked.
        passing: whether the same call may succeed later.
    """

    error: LanceNsError
    reached: bool
    passing: bool = True


class _OutcomeUnknown(Exception):
    """The call was sent, and no answer says what became of it."""

    def __init__(self, error: LanceNsError) -> None:
        super().__init__(str(error))
        self.error = error


def _common_headers(given: Mapping[str, str]) -> Hidden:
    """The headers of every call. Their names are written in one way, so that none is sent twice."""
    unsendable = [
        name for name in given if not re.fullmatch(_HEADER_NAME, name) or not re.fullmatch(_HEADER_VALUE, given[name])
    ]
    if unsendable:
        raise InvalidInput(f"the header {unsendable[0]!r} cannot be sent", hint="its name or value is not one of HTTP")
    named = Hidden({name.title(): value for name, value in given.items()})
    return Hidden({"Accept": "application/json", "User-Agent": f"lance-ns/{__version__}"}) | named


def _bearer(token: Secret) -> str:
    if not re.fullmatch(_VISIBLE, token.reveal()):
        raise Unauthenticated(
            "the token is empty, or holds what no header can carry", hint="check it for spaces and ends of lines"
        )
    return f"Bearer {token.reveal()}"


def _encoded(json_body: Any, form: Form | None) -> bytes | None:
    if form is not None:
        plain = Hidden({key: each.reveal() if isinstance(each, Secret) else each for key, each in form.items()})
        return urlencode(plain).encode()
    return None if json_body is None else json.dumps(json_body, ensure_ascii=False, separators=(",", ":")).encode()


@lru_cache(maxsize=16)
def _redactor(secrets: tuple[Secret, ...]) -> Redactor:
    """What takes secrets out of texts; making one takes as long as a call."""
    return Redactor([each.reveal() for each in secrets])
