"""A state machine of hypothesis: random operations on a backend and on the model. Needs the extra `model`."""

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lance_ns.registry import find
from lance_ns_conformance.model.comparison import Comparison
from lance_ns_conformance.model.steps import READING, WRITING, chosen
from lance_ns_conformance.run import tidy
from lance_ns_conformance.subject import Subject
from lance_ns_conformance.world import World


class ComparingMachine(RuleBasedStateMachine):
    """Every sequence has a connection, a scratch directory and names of its own."""

    subject: ClassVar[Subject]

    def __init__(self) -> None:
        super().__init__()
        self._end = ExitStack()
        self._played: list[dict[str, Any]] = []

    @initialize()
    def connect(self) -> None:
        """Begin with one namespace."""
        scratch = Path(self._end.enter_context(tempfile.TemporaryDirectory(prefix="lance-ns-")))
        room = self._end.enter_context(self.subject.room(scratch))
        world = World(self.subject, f"model.{uuid4().hex}", room)
        ns = self._end.enter_context(world.connect())
        self._end.callback(tidy, ns, world)
        self._comparison = Comparison(ns, world)
        self.play("create_namespace", id=("a",), mode="create", properties={})

    @rule()
    def everything(self) -> None:
        """Compare all that there is."""
        self._told(self._comparison.everything)

    def play(self, do: str, **arguments: Any) -> None:
        """Play one operation."""
        self._played.append({"do": do, **arguments})
        self._told(lambda: self._comparison.play(do, **arguments))

    def play_one_of(self, operations: Sequence[str], data: st.DataObject) -> None:
        """Play one of some operations."""

        def choose(values: Sequence[Any]) -> Any:
            return data.draw(st.sampled_from(values))

        do = choose(operations)
        self.play(do, **chosen(do, choose, self._comparison.model))

    def teardown(self) -> None:
        """Remove what is left."""
        self._end.close()

    def _told(self, call: Callable[[], None]) -> None:
        try:
            call()
        except AssertionError as error:
            lines = [json.dumps(each, ensure_ascii=False) for each in self._played]
            error.add_note("\n".join(["after these operations:", *lines]))
            raise


def machine(subject: Subject) -> type[RuleBasedStateMachine]:
    """The state machine of one subject: a rule for each writing operation that it has, one for all that read."""
    declared = find(subject.backend).capabilities
    rules = {do: _rule(do, [do]) for do in WRITING if do in declared} | {"read": _rule("read", READING)}
    return type("NamespaceMachine", (ComparingMachine,), {**rules, "subject": subject})


def _rule(name: str, operations: Sequence[str]) -> Any:
    def play(self: ComparingMachine, data: st.DataObject) -> None:
        self.play_one_of(operations, data)

    play.__name__ = name
    return rule(data=st.data())(play)
