"""A right backend to derive wrong ones from: the third party's key-value store."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from lance_ns import registry
from lance_ns_conformance.subject import Expectations, Subject

KV = Path(__file__).resolve().parents[2] / "tests" / "third_party" / "kv" / "src"
PROPERTIES = {"file": "{scratch}/store", "root": "{scratch}/data", "storage.option": "value"}


@pytest.fixture(scope="session")
def kv() -> Any:
    sys.path.insert(0, str(KV))
    import acme_kv

    return acme_kv


@pytest.fixture
def subject_with(kv: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a subject whose backend is the right one, or a class derived from it."""

    def make(factory: Any = None) -> Subject:
        backend = kv.lance_ns_backend()
        if factory is not None:
            backend = attrs.evolve(backend, factory=factory)
        monkeypatch.setitem(registry._loaded, "kv", backend)
        return Subject(backend="kv", properties=PROPERTIES, expectations=Expectations(tables_at_base=True))

    return make
