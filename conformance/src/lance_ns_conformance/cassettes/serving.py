"""A server that answers from a recording, for what must go through real sockets: trouble on the way to a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lance_ns_conformance.cassettes import bodies, http
from lance_ns_conformance.cassettes.form import CassetteError
from lance_ns_conformance.cassettes.placeholders import restorer
from lance_ns_conformance.cassettes.session import stored
from lance_ns_conformance.cassettes.walking import mapped
from lance_ns_conformance.stand_in import Asked, Reply, StandIn
from lance_ns_conformance.subject import Subject, filled


@contextmanager
def served(subject: Subject, scenario: str, room: Path) -> Iterator[StandIn]:
    """Serve the recording of a scenario. A request that comes once more than it was recorded gets its last answer.

    Raises:
        CassetteError: there is no recording, or it is damaged.
    """
    cassette = stored(subject, scenario)
    if cassette is None:
        raise CassetteError(f"there is no recording of {scenario}")
    left: list[dict[str, Any]] = mapped(cassette.interactions, restorer(filled(subject.properties, room), room))
    played: list[dict[str, Any]] = []

    def answer(asked: Asked) -> Reply:
        kind = asked.headers.get("Content-Type", "")
        request = {"method": asked.method, "uri": asked.path, **bodies.shown(asked.body, kind)}
        wanted = http.comparable(request)
        # In the order of the recording; what was answered already comes last.
        for each in [*left, *reversed(played)]:
            if _same(http.comparable(each["request"]), wanted):
                if each in left:
                    left.remove(each)
                    played.append(each)
                response = each["response"]
                body = response.get("json", response.get("text"))
                return Reply(response["status"], body, response.get("headers", {}))
        return Reply(404, {"error": {"message": "this was not recorded", "type": "NotRecorded", "code": 404}})

    with StandIn(answer) as server:
        yield server


def _same(recorded: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Whether two requests are the same; the path of an endpoint is no part of what is asked here."""
    return {**recorded, "path": ""} == {**asked, "path": ""} and str(recorded["path"]).endswith(str(asked["path"]))
