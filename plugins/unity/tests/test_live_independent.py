"""The independent server, a dialect of its own: tolerated, never certified."""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from lance_ns_conformance import ConformanceSuite
from lance_ns_conformance.subject import Mode, Server, Subject

NAME = "olai-uc-server"
PARENTS = "the server takes a table into a schema that does not exist"
ORPHANS = "the server deletes a schema and keeps its tables, which are there again with the next schema of that name"
CASE = "the server takes names that differ in case for the same"
COMMENT = "the server forgets the comment of a schema whose properties are changed"
DEVIATIONS = {
    "connections.errors_of_every_operation": PARENTS,
    "registering.in_missing_namespace": PARENTS,
    "tables.declare_in_missing_namespace": PARENTS,
    "writing.in_missing_namespace": PARENTS,
    "sequences.changes": ORPHANS,
    "sequences.everything": ORPHANS,
    "sequences.existence": PARENTS,
    "sequences.namespaces": PARENTS,
    "namespaces.cascade_forgets": ORPHANS,
    "namespaces.cascade_with_table": ORPHANS,
    "tables.case_of_names": CASE,
    "unity.root_and_schemas": CASE,
    "unity.tables_in_order": CASE,
    "writing.unusual_names": CASE,
    "unity.properties_are_replaced": COMMENT,
}


@pytest.mark.live("unity")
class TestIndependentServer(ConformanceSuite):
    """Every scenario, on the server that needs neither a release nor a build of the official one."""

    backend = "unity"
    server = "unity-0.6.0"
    mode = "live"

    @classmethod
    def subject(cls, mode: Mode = "live", properties: Mapping[str, Any] | None = None) -> Subject:
        independent = Server(name=NAME, deviations=DEVIATIONS)
        return attrs.evolve(super().subject(mode, properties), server=independent)

    @pytest.fixture
    def conformance_properties(self, live_server) -> dict[str, Any]:
        running = live_server("unity")
        if not running.version.startswith(NAME):
            pytest.skip(f"what runs here is the official server {running.version}, which is certified as itself")
        given = running.properties
        del given["backend"]
        return given
