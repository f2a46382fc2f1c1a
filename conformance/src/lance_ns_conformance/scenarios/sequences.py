"""Sequences of operations that were chosen once, and are stored: every answer is that of the contract's model."""

import json
from importlib.resources import files

from lance_ns.namespace import Namespace
from lance_ns_conformance import model
from lance_ns_conformance.scenario import Body, scenario
from lance_ns_conformance.world import World

TITLES = {
    "changes": "tables that are renamed and altered again and again answer as the contract says",
    "everything": "a long sequence of all operations is answered as the contract says",
    "existence": "what comes and goes again and again exists when the contract says so",
    "namespaces": "namespaces that come and go again and again answer as the contract says",
    "tables": "tables that come and go again and again answer as the contract says",
}


def stored(name: str) -> Body:
    """A scenario that plays one of the files."""

    def body(ns: Namespace, world: World) -> None:
        comparison = model.Comparison(ns, world)
        for step in json.loads(files(model).joinpath("sequences", f"{name}.json").read_text(encoding="utf-8")):
            comparison.play(**step)
        comparison.everything()

    body.__name__ = name
    return body


for _name, _title in TITLES.items():
    scenario(_title)(stored(_name))
