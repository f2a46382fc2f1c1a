"""The model as a pytest test: a backend's author derives one class."""

from collections.abc import Mapping
from typing import Any, ClassVar

from lance_ns_conformance.subject import Expectations, Subject, subject_of


class ModelSuite:
    """Derive from this and name a backend: hypothesis looks for operations that it does not answer as the contract.

    It always meets the catalog live: what is chosen at random cannot be replayed.

    Attributes:
        backend: the name under which it is installed.
        server: one of the servers that its plugin describes.
        properties: how to connect; `{scratch}` stands for a directory of each sequence's own. The fixture
            `conformance_properties` may be overridden where that is known only when tests run.
        expectations: in what its catalog differs; for a server, the plugin's description says it.
        examples: how many sequences are tried.
        steps: how many operations a sequence has at most.
        shorten: whether one that fails is made as short as it can be, which takes time on a slow catalog.
    """

    backend: ClassVar[str]
    server: ClassVar[str] = ""
    properties: ClassVar[Mapping[str, Any]] = {}
    expectations: ClassVar[Expectations] = Expectations()
    examples: ClassVar[int] = 50
    steps: ClassVar[int] = 30
    shorten: ClassVar[bool] = True

    def test_random_operations_are_answered_as_the_contract_says(
        self, conformance_properties: Mapping[str, Any]
    ) -> None:
        """Every answer is that of the model."""
        subject = (
            subject_of(self.backend, conformance_properties, server=self.server)
            if self.server
            else Subject(backend=self.backend, properties=conformance_properties, expectations=self.expectations)
        )
        explore(subject, self.examples, self.steps, shorten=self.shorten)


def explore(
    subject: Subject, examples: int = 50, steps: int = 30, *, derandomize: bool = False, shorten: bool = True
) -> None:
    """Look for a sequence of operations that a backend answers otherwise than the contract says.

    Args:
        subject: the backend, live.
        examples: how many sequences are tried.
        steps: how many operations a sequence has at most.
        derandomize: try the same sequences each time.
        shorten: make one that was found as short as it can be, which can take minutes.

    Raises:
        AssertionError: one was found.
        ImportError: hypothesis is not installed.
    """
    try:
        from hypothesis import HealthCheck, Phase, settings
        from hypothesis.stateful import run_state_machine_as_test
    except ImportError as error:
        raise ImportError("the model test needs an extra: pip install 'lance-ns-conformance[model]'") from error

    from lance_ns_conformance.model.machine import machine

    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=derandomize,
        phases=[each for each in Phase if shorten or each not in (Phase.shrink, Phase.explain)],
        deadline=None,  # a catalog may be slow
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine(subject), settings=chosen)
