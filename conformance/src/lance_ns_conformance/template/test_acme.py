"""The backend, held to every scenario of the contract and to its model, and a few things of its own."""

from pathlib import Path

import pytest

import lance_ns
from lance_ns_conformance import ConformanceSuite, ModelSuite
from lance_ns_conformance.subject import subject_of

SUBJECT = subject_of("acme", {})


class TestAcme(ConformanceSuite):
    """Every scenario that applies to what the backend declares."""

    backend = "acme"
    properties = SUBJECT.properties
    expectations = SUBJECT.expectations


class TestAcmeModel(ModelSuite):
    """Random operations, compared with the contract's model."""

    backend = "acme"
    properties = SUBJECT.properties
    expectations = SUBJECT.expectations
    examples = 20


def test_a_catalog_that_cannot_be_opened_is_unavailable_and_not_empty(tmp_path: Path) -> None:
    """An error of the catalog is never an empty answer."""
    (tmp_path / "catalog").mkdir()
    ns = lance_ns.connect("acme", file=tmp_path / "catalog", root=tmp_path)
    with ns, pytest.raises(lance_ns.ServiceUnavailable, match="catalog"):
        list(ns.list_tables())
