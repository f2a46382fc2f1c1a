"""A scenario's meeting with its server: watched, recorded or played back."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from lance_ns import registry
from lance_ns.config import Properties, Secret, secrets_of
from lance_ns.config import read as read_config
from lance_ns_conformance.cassettes.form import Cassette, CassetteError, Interaction, read
from lance_ns_conformance.cassettes.leaks import leaks
from lance_ns_conformance.cassettes.network import blocked
from lance_ns_conformance.cassettes.placeholders import hider, restorer
from lance_ns_conformance.cassettes.scrubbing import scrubbed
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.cassettes.walking import mapped
from lance_ns_conformance.scenario import NotApplicable
from lance_ns_conformance.subject import Description, Subject, filled


class Wire(Protocol):
    """What a module for one protocol offers."""

    def intercepted(self, tape: Recorder | Player, description: Description, /) -> AbstractContextManager[None]:
        """Everything that is sent meanwhile goes through the tape."""

    def comparable(self, request: dict[str, Any]) -> dict[str, Any]:
        """The fields in which a request must be as it was recorded."""

    def line(self, interaction: Interaction) -> str:
        """An interaction on one line."""

    def fault(self, interaction: Interaction) -> str | None:
        """What is wrong with a stored interaction, or None."""


@contextmanager
def recording(subject: Subject, room: Path, *, everything: bool = True) -> Iterator[Recorder]:
    """Record what a subject sends, without a file; without `everything` only the last of it, to be shown."""
    live = filled(subject.properties, room)
    places = (*((subject.ground,) if subject.ground else ()), *subject.places)
    hide = hider(live, subject.replayed, room, live_secrets(subject, room), places)
    wire, description = _wire(subject)
    recorder = Recorder(lambda data: scrubbed(mapped(data, hide)), wire.line, everything=everything)
    with wire.intercepted(recorder, description):
        yield recorder


@contextmanager
def replaying(subject: Subject, scenario: str, room: Path, cassette: Cassette | None = None) -> Iterator[Player]:
    """Play what was recorded of a scenario, with no network; all of it must be asked for, and nothing else.

    Raises:
        CassetteError: the recording is not what the scenario asks for.
    """
    wire, description = _wire(subject)
    player = _player(subject, wire, scenario, room, cassette)
    try:
        with blocked(player.note), wire.intercepted(player, description):
            yield player
    except NotApplicable:
        player.check()
        raise
    except Exception as error:
        # What the scenario met may be no more than a consequence.
        if player.problems and error is not player.problems[0]:
            raise player.problems[0] from error
        raise
    player.check()


def stored(subject: Subject, scenario: str) -> Cassette | None:
    """The recording of a scenario, checked; None when there is no file.

    Raises:
        CassetteError: the file is no recording of it, or holds a secret.
    """
    path = subject.cassette(scenario)
    if path is None or not path.exists():
        return None
    cassette = read(path, backend=subject.backend, server=_server(subject), scenario=scenario)
    wire, _ = _wire(subject)
    for number, interaction in enumerate(cassette.interactions, 1):
        if wrong := wire.fault(interaction):
            raise CassetteError(f"{path}: interaction {number} is damaged: {wrong}")
    refuse_leaks(cassette, str(path))
    return cassette


def made(subject: Subject, scenario: str, recorder: Recorder) -> Cassette:
    """A cassette of what was recorded."""
    return Cassette(
        backend=subject.backend, server=_server(subject), scenario=scenario, interactions=recorder.interactions()
    )


def refuse_leaks(cassette: Cassette, name: str, secrets: list[str] | None = None) -> None:
    """Refuse a cassette that holds a secret.

    Raises:
        CassetteError: it does; the message says of which kind, and not which.
    """
    found = leaks(cassette.interactions, secrets or ())
    if found:
        raise CassetteError(f"{name} holds what looks like a secret: {', '.join(found)}. Revoke it, and record anew")


def live_secrets(subject: Subject, room: Path) -> list[str]:
    """The secrets of a subject's connection, and what stands after the colon in one; not those that replay has too."""
    backend = registry.find(subject.backend)
    config = read_config(
        registry.part(backend, backend.config), Properties(filled(subject.properties, room)), backend=subject.backend
    )
    public = {each.reveal() if isinstance(each, Secret) else each for each in subject.replayed.values()}
    found = [part for secret in secrets_of(config) for part in (secret, secret.partition(":")[2])]
    return [secret for secret in found if secret and secret not in public]


def _player(subject: Subject, wire: Wire, scenario: str, room: Path, cassette: Cassette | None) -> Player:
    path = subject.cassette(scenario)
    cassette = cassette or stored(subject, scenario)
    restore = restorer(filled(subject.properties, room), room)
    hint = "record it again if that is meant: `lance-ns certify … --mode record`"
    if cassette is None:
        hint = "there is no such file: record it with `lance-ns certify … --mode record`"
    return Player(
        mapped(cassette.interactions if cassette else [], restore),
        wire.comparable,
        wire.line,
        name=str(path) if path else scenario,
        hint=hint,
    )


def _server(subject: Subject) -> str:
    return subject.server.name if subject.server else ""


def _wire(subject: Subject) -> tuple[Wire, Description]:
    if subject.description is None or subject.records is None:
        raise ValueError(f"{subject.backend} sends nothing that could be recorded")
    return cast("Wire", import_module(f"lance_ns_conformance.cassettes.{subject.records}")), subject.description
