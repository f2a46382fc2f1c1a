"""The operations that may be played, with the arguments that they may have: few, so that they meet each other."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from lance_ns.identifiers import Levels
from lance_ns_conformance.model.contract import Model

Choose = Callable[[Sequence[Any]], Any]

KEYS = ("owner", "größe", "empty")
"""The properties that operations set."""

_HOSTILE: list[Levels] = [("A",), ("ünï",), ("a", "sp ace"), ("b", "per%20cent"), ("a", "sla/sh")]
_NAMESPACES: list[Levels] = [("a",), ("b",), ("a", "b"), ("a", "c"), ("a", "b", "c"), *_HOSTILE]
_TABLES: list[Levels] = [(*parent, name) for parent, name in product([*_NAMESPACES, ()], ["t", "b", "T", "dot.ted"])]
_PROPERTIES = [{}, {"owner": "x"}, {"owner": "y", "größe": "ü%/$"}, {"empty": ""}]
_LIMITS = [1, 2, 3, 7]

STEPS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "create_namespace": {"id": _NAMESPACES, "mode": ["create", "exist_ok", "overwrite"], "properties": _PROPERTIES},
    "describe_namespace": {"id": _NAMESPACES},
    "namespace_exists": {"id": _NAMESPACES},
    "list_namespaces": {"id": [(), *_NAMESPACES], "limit": _LIMITS},
    "drop_namespace": {"id": _NAMESPACES, "mode": ["fail", "skip"], "behavior": ["restrict", "cascade"]},
    "declare_table": {"id": _TABLES, "properties": _PROPERTIES},
    "describe_table": {"id": _TABLES},
    "table_exists": {"id": _TABLES},
    "list_tables": {"id": [(), *_NAMESPACES], "limit": _LIMITS},
    "list_all_tables": {"id": _NAMESPACES},
    "deregister_table": {"id": _TABLES},
    "rename_table": {"id": _TABLES, "to": ["t", "b", "moved", "sp ace"]},
    "alter_table_properties": {
        "id": _TABLES,
        "updates": [{}, {"größe": "m"}, {"empty": ""}],
        "removals": [[], ["owner"]],
    },
}
"""By the name of the operation."""

WRITING = (
    "create_namespace",
    "drop_namespace",
    "declare_table",
    "deregister_table",
    "rename_table",
    "alter_table_properties",
)
READING = tuple(do for do in STEPS if do not in WRITING)


def chosen(do: str, choose: Choose, model: Model) -> dict[str, Any]:
    """The arguments of an operation, mostly about what is there or could be."""
    arguments = {name: choose(values) for name, values in STEPS[do].items() if name != "id"}
    ids = STEPS[do]["id"]
    about = {
        "what could be": [id for id in ids if id[:-1] in model.namespaces],
        "what is there": [id for id in ids if id in model.namespaces or id in model.tables],
    }
    return {"id": choose(about.get(choose(["anything", *about])) or ids), **arguments}
