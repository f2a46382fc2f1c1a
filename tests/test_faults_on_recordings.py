"""Catalogs whose servers a machine may lack meet trouble too: on a server that answers from their recordings.

Whatever happens on the way, a scenario gives what it gives in quiet, or a typed error; a wrong answer would fail it. A
recording does not know what became of a lost request, so any code is right here; live runs are stricter.
"""

from pathlib import Path

import attrs
import pytest

from lance_ns.errors import LanceNsError
from lance_ns_conformance import faults
from lance_ns_conformance.cassettes.serving import served
from lance_ns_conformance.scenario import every_scenario
from lance_ns_conformance.scenarios.faults import FAULTS
from lance_ns_conformance.subject import description_of, subject_of
from lance_ns_conformance.world import World

SCENARIOS = {each.id: each for each in every_scenario()}


@pytest.mark.parametrize("fault", [words for words, make in FAULTS.items() if make().kind != "latency"])
@pytest.mark.parametrize("scenario", ["tables.declared_is_there", "namespaces.drop_empty"])
@pytest.mark.parametrize("backend", ["polaris", "unity"])
def test_every_request_of_a_scenario_may_meet_trouble(backend, scenario, fault, tmp_path: Path):
    replayed = subject_of(backend, {}, mode="replay")
    description = description_of(backend)
    hasty = {**description.hasty, "read_timeout": 1 if backend == "unity" else 250}
    position, met = 0, True
    while met:
        room = tmp_path / str(position)
        room.mkdir()
        with served(replayed, scenario, room) as server, faults.FaultProxy("127.0.0.1", server.port) as proxy:
            properties = {**replayed.properties, **hasty, str(description.endpoint): proxy.url}
            subject = attrs.evolve(replayed, mode="live", properties=properties)
            proxy.order(*([faults.latency(0)] * position), FAULTS[fault]())
            world = World(subject, scenario, room)
            try:
                with world.connect() as ns:
                    SCENARIOS[scenario].body(ns, world)
            except LanceNsError as error:
                assert error.backend == backend  # noqa: PT017  # it may fail, and then says who
            finally:
                world.close()
            met = proxy.pending == 0
        position += 1
    assert position > 2, "the scenario sent nothing that could meet trouble"
