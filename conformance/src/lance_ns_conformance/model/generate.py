"""Choose the stored sequences anew: `python -m lance_ns_conformance.model.generate`.

Of many random sequences the one is kept that meets most kinds of answers. Recordings hold what the stored ones did:
record them again after a change.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lance_ns.capabilities import KNOWN
from lance_ns_conformance.model.comparison import outcome
from lance_ns_conformance.model.contract import Model
from lance_ns_conformance.model.steps import STEPS, chosen

Step = dict[str, Any]

LENGTH = 30
CANDIDATES = 2000
THEMES = {
    "namespaces": ("create_namespace", "describe_namespace", "drop_namespace", "list_namespaces", "declare_table"),
    "tables": (
        "create_namespace",
        "declare_table",
        "declare_table",
        "deregister_table",
        "describe_table",
        "list_tables",
    ),
    "existence": (
        "create_namespace",
        "drop_namespace",
        "declare_table",
        "deregister_table",
        "namespace_exists",
        "table_exists",
    ),
    "changes": ("create_namespace", "declare_table", "rename_table", "alter_table_properties", "describe_table"),
    "everything": tuple(STEPS),
}
"""The files, each with the operations that it chooses from."""


def sequence(operations: Sequence[str], dice: random.Random) -> list[Step]:
    """A random sequence."""
    model = Model(capabilities=KNOWN)
    steps: list[Step] = [{"do": "create_namespace", "id": ("a",), "mode": "create", "properties": {}}]
    while True:
        answered(model, steps[-1])
        if len(steps) == LENGTH:
            return steps
        do = dice.choice(operations)
        steps.append({"do": do, **chosen(do, dice.choice, model)})


def answered(model: Model, step: Step) -> Any:
    """What the model answers to a step."""
    arguments = {**step, "id": tuple(step["id"])}
    do = arguments.pop("do")
    return outcome(lambda: getattr(model, do)(**arguments))


def kinds(steps: Sequence[Step]) -> Iterator[tuple[Any, ...]]:
    """The kinds of answers that a sequence meets."""
    model = Model(capabilities=KNOWN)
    for step in steps:
        answer = answered(model, step)
        shown = answer if isinstance(answer, type | bool) else bool(answer)
        yield step["do"], step.get("mode"), step.get("behavior"), shown


def main() -> None:
    """Write the files."""
    folder = Path(__file__).parent / "sequences"
    for name, operations in THEMES.items():
        dice = random.Random(name)  # noqa: S311  # the same each time
        candidates = (sequence(operations, dice) for _ in range(CANDIDATES))
        best = max(candidates, key=lambda steps: len(set(kinds(steps))))
        lines = ",\n".join(f"  {json.dumps(step, ensure_ascii=False)}" for step in best)
        (folder / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
