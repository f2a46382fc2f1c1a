"""Wrong backends, each with one realistic mistake: the kit must notice each, by the scenario meant for it."""

import contextlib
import json
import logging
import re
import shutil
import threading
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import attrs
import pytest

from lance_ns import errors, registry
from lance_ns import models as m
from lance_ns.capabilities import BASIC
from lance_ns_conformance.run import applicable, perform
from lance_ns_conformance.scenario import NotApplicable, every_scenario

Mistake = Callable[[Any], dict[str, Any]]


def method(name: str, change: Callable[[Any, Any, Any], Any]) -> Mistake:
    """A mistake in one method: `change(self, right, request)` gives the wrong answer.

    `right()` is what the right method answers, `right(other)` what it answers to another request.
    """

    def make(right: Any) -> dict[str, Any]:
        def wrong(self: Any, request: Any) -> Any:
            return change(self, lambda other=request: getattr(right, name)(self, other), request)

        return {name: _hook(wrong)}

    return make


def request_with(name: str, **changes: Any) -> Mistake:
    """A mistake that treats every request as if it said something else."""
    return method(name, lambda self, right, request: right(attrs.evolve(request, **changes)))


def _hook(function: Any) -> Any:
    from lance_ns import hookimpl

    return hookimpl(function)


def entry(name: str, change: Callable[..., Any]) -> Mistake:
    """A mistake in one of the entry methods."""
    return lambda right: {name: lambda self, *arguments: change(right, self, *arguments)}


def quietly(call: Callable[[], Any], kind: Any, answer: Any) -> Any:
    try:
        return call()
    except kind:
        return answer


def quietly_raise(call: Callable[[], Any], kind: type[Exception], other: Exception) -> Any:
    try:
        return call()
    except kind:
        raise other from None


_ANY = errors.LanceNsError
_FIRST: dict[Any, Any] = {}


def naive_location(self: Any, right: Any, request: Any) -> Any:
    location = request.location or f"{self.config.root}/{'/'.join(request.id)}"
    return right(attrs.evolve(request, location=location))


def sliced(answer: Any, **changes: Any) -> Any:
    return attrs.evolve(answer, **changes)


MISTAKES: dict[str, tuple[str, Mistake]] = {
    "answers a missing namespace with an empty list": (
        "namespaces.list_below_missing",
        method(
            "list_tables",
            lambda self, right, request: quietly(right, errors.NamespaceNotFound, m.ListTablesResponse(tables=[])),
        ),
    ),
    "answers any failure with an empty list": (
        "paging.foreign_token",
        method(
            "list_tables",
            lambda self, right, request: quietly(right, errors.LanceNsError, m.ListTablesResponse(tables=[])),
        ),
    ),
    "forgets the token of the next page": (
        "paging.table_pages",
        method("list_tables", lambda self, right, request: sliced(right(), page_token=None)),
    ),
    "ignores the limit": (
        "paging.table_pages",
        method(
            "list_tables",
            lambda self, right, request: m.ListTablesResponse(tables=self.children("table", request.id)),
        ),
    ),
    "ignores the token": (
        "paging.token_survives",
        request_with("list_tables", page_token=None),
    ),
    "lists full names": (
        "tables.relative_names",
        method(
            "list_tables",
            lambda self, right, request: sliced(right(), tables=["$".join((*request.id, t)) for t in right().tables]),
        ),
    ),
    "lists the tables of child namespaces too": (
        "tables.not_the_childs",
        method(
            "list_tables",
            lambda self, right, request: sliced(
                right(),
                tables=[
                    *right().tables,
                    *(
                        t
                        for c in self.children("namespace", request.id)
                        for t in self.children("table", (*request.id, c))
                    ),
                ],
            ),
        ),
    ),
    "lists namespaces as tables": (
        "tables.table_is_no_namespace",
        method(
            "list_tables",
            lambda self, right, request: sliced(
                right(), tables=[*right().tables, *self.children("namespace", request.id)]
            ),
        ),
    ),
    "lists three tables at most": (
        "tables.unlimited_page",
        method("list_tables", lambda self, right, request: sliced(right(), tables=right().tables[:3])),
    ),
    "leaves out the last table": (
        "paging.last_page",
        method("list_tables", lambda self, right, request: sliced(right(), page_token=right().page_token or "more")),
    ),
    "takes a second declare for success": (
        "tables.declare_existing",
        method(
            "declare_table",
            lambda self, right, request: quietly(
                right, errors.TableAlreadyExists, m.DeclareTableResponse(location="/somewhere")
            ),
        ),
    ),
    "joins names to locations naively": ("identifiers.locations_stay", method("declare_table", naive_location)),
    "puts tables of one name in one place": (
        "tables.locations_differ",
        method(
            "declare_table",
            lambda self, right, request: right(
                attrs.evolve(request, location=request.location or f"{self.config.root}/{request.id[-1]}")
            ),
        ),
    ),
    "ignores a given location": (
        "tables.given_location",
        request_with("declare_table", location=None),
    ),
    "answers no location": (
        "tables.declared_is_there",
        method("declare_table", lambda self, right, request: sliced(right(), location=None)),
    ),
    "describes another location than it declared": (
        "tables.declared_is_there",
        method("describe_table", lambda self, right, request: sliced(right(), location=f"{right().location}/")),
    ),
    "declares below a missing namespace": (
        "tables.declare_in_missing_namespace",
        method(
            "declare_table",
            lambda self, right, request: quietly(
                right, errors.NamespaceNotFound, m.DeclareTableResponse(location="/somewhere")
            ),
        ),
    ),
    "makes the missing namespace of a table": (
        "tables.declare_in_missing_namespace",
        method(
            "declare_table",
            lambda self, right, request: (self.replace_entry(request.id[:-1], {}), right())[1],
        ),
    ),
    "calls a missing table a missing namespace": (
        "tables.describe_missing",
        method("describe_table", lambda self, right, request: _renamed(right, errors.NamespaceNotFound)),
    ),
    "raises a foreign error for a missing table": (
        "tables.describe_missing",
        method("describe_table", lambda self, right, request: _renamed(right, KeyError)),
    ),
    "describes missing tables": (
        "tables.describe_missing",
        method(
            "describe_table",
            lambda self, right, request: quietly(right, errors.TableNotFound, m.DescribeTableResponse()),
        ),
    ),
    "loses the properties of tables": (
        "properties.table_keeps",
        method("describe_table", lambda self, right, request: sliced(right(), properties={})),
    ),
    "answers details that nobody asked for": (
        "tables.no_details_unasked",
        method("describe_table", lambda self, right, request: sliced(right(), version=1)),
    ),
    "forgets the storage options": (
        "tables.storage_options",
        method("describe_table", lambda self, right, request: sliced(right(), storage_options=None)),
    ),
    "deletes data when it deregisters": (
        "data.deregister_keeps_data",
        method(
            "deregister_table",
            lambda self, right, request: _then(right(), lambda answer: shutil.rmtree(answer.location, True)),
        ),
    ),
    "takes deregistering a missing table for success": (
        "tables.deregister_missing",
        method(
            "deregister_table",
            lambda self, right, request: quietly(right, errors.TableNotFound, m.DeregisterTableResponse()),
        ),
    ),
    "does not deregister": (
        "tables.deregistered_is_gone",
        method("deregister_table", lambda self, right, request: m.DeregisterTableResponse(location="/somewhere")),
    ),
    "ignores the mode of a create": (
        "namespaces.create_existing",
        request_with("create_namespace", mode="exist_ok"),
    ),
    "replaces in mode ExistOk": (
        "namespaces.create_exist_ok",
        method(
            "create_namespace",
            lambda self, right, request: _then(
                right(), lambda _: self.replace_entry(request.id, request.properties or {})
            ),
        ),
    ),
    "takes Overwrite for ExistOk": (
        "namespaces.overwrite_empty",
        method(
            "create_namespace",
            lambda self, right, request: right(
                attrs.evolve(request, mode="exist_ok" if request.mode == "Overwrite" else request.mode)
            ),
        ),
    ),
    "overwrites what is not empty": ("namespaces.overwrite_with_table", entry("is_empty", lambda *_: True)),
    "drops what is not empty": ("namespaces.restrict_with_table", entry("is_empty", lambda *_: True)),
    "looks at tables only before it drops": (
        "namespaces.restrict_with_child",
        entry("is_empty", lambda right, self, levels: not self.children("table", levels)),
    ),
    "adds to the properties that it should replace": (
        "namespaces.overwrite_empty",
        entry(
            "replace_entry",
            lambda right, self, levels, properties: right.replace_entry(
                self, levels, {**(self.find_entry(levels) or {}), **properties}
            ),
        ),
    ),
    "answers null for no properties": (
        "properties.namespace_without",
        method(
            "describe_namespace", lambda self, right, request: sliced(right(), properties=right().properties or None)
        ),
    ),
    "keeps ASCII only": (
        "properties.namespace_unusual",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, levels, {key: value.encode("ascii", "replace").decode() for key, value in properties.items()}
            ),
        ),
    ),
    "drops empty values": (
        "properties.empty_value",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, levels, {key: value for key, value in properties.items() if value}
            ),
        ),
    ),
    "cuts long values": (
        "properties.large_value",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, levels, {key: value[:255] for key, value in properties.items()}
            ),
        ),
    ),
    "makes missing parents on the way": (
        "namespaces.create_below_missing",
        entry(
            "create_entry",
            lambda right, self, levels, properties: (
                levels[:-1] and self.find_entry(levels[:-1]) is None and self.replace_entry(levels[:-1], {}),
                right.create_entry(self, levels, properties),
            )[1],
        ),
    ),
    "takes a missing namespace for dropped": (
        "namespaces.drop_missing",
        method(
            "drop_namespace",
            lambda self, right, request: quietly(right, errors.NamespaceNotFound, m.DropNamespaceResponse()),
        ),
    ),
    "ignores mode Skip": (
        "namespaces.drop_missing_skip",
        request_with("drop_namespace", mode="fail"),
    ),
    "does not drop": (
        "namespaces.drop_empty",
        entry("remove_entry", lambda *_: None),
    ),
    "creates in two steps": (
        "tables.racing_declares",
        method(
            "declare_table",
            lambda self, right, request: _unguarded(self, request),
        ),
    ),
    "answers in mode ExistOk what was asked for, not what is there": (
        "namespaces.exist_ok_answers",
        method("create_namespace", lambda self, right, request: sliced(right(), properties=request.properties or {})),
    ),
    "answers an overwrite with what was there before": (
        "namespaces.overwrite_answers",
        method(
            "create_namespace",
            lambda self, right, request: _with(
                self.find_entry(request.id), lambda before: sliced(right(), properties=before or request.properties)
            ),
        ),
    ),
    "takes Skip for leave to drop anything": (
        "namespaces.skip_with_table",
        method(
            "drop_namespace",
            lambda self, right, request: (
                _with(self.remove_entry(request.id), lambda _: m.DropNamespaceResponse())
                if request.mode is m.DropMode.SKIP
                else right()
            ),
        ),
    ),
    "drops in mode Skip only what is missing": (
        "namespaces.skip_drops",
        method(
            "drop_namespace",
            lambda self, right, request: m.DropNamespaceResponse() if request.mode is m.DropMode.SKIP else right(),
        ),
    ),
    "finds namespaces by how they begin": (
        "namespaces.prefix_of_another",
        entry(
            "find_entry",
            lambda right, self, levels: (
                next(
                    (self.store.get(key) for key in _keys(self) if key.startswith(_begin("namespace", levels))),
                    None,
                )
                if levels
                else {}
            ),
        ),
    ),
    "creates the root": (
        "namespaces.create_root",
        method(
            "create_namespace",
            lambda self, right, request: right() if request.id else m.CreateNamespaceResponse(properties={}),
        ),
    ),
    "drops the root": (
        "namespaces.root_stays",
        method("drop_namespace", lambda self, right, request: right() if request.id else m.DropNamespaceResponse()),
    ),
    "does not know the root": (
        "namespaces.root_forms",
        entry("find_entry", lambda right, self, levels: right.find_entry(self, levels) if levels else None),
    ),
    "lists the namespaces of every depth": (
        "namespaces.nested_deep",
        method(
            "list_namespaces",
            lambda self, right, request: sliced(
                right(),
                namespaces=[
                    levels[-1]
                    for kind, *levels in map(json.loads, _keys(self))
                    if kind == "namespace" and tuple(levels[: len(request.id)]) == request.id != tuple(levels)
                ],
            ),
        ),
    ),
    "lists full names of namespaces": (
        "namespaces.listed_is_found",
        method(
            "list_namespaces",
            lambda self, right, request: sliced(
                right(), namespaces=["$".join((*request.id, name)) for name in right().namespaces]
            ),
        ),
    ),
    "remembers dropped namespaces": (
        "namespaces.missed_by_another",
        method("describe_namespace", lambda self, right, request: _remembered(self, request, right)),
    ),
    "finds tables by how they begin": (
        "tables.prefix_of_another",
        method(
            "describe_table",
            lambda self, right, request: quietly(
                right,
                _ANY if any(k.startswith(_begin("table", request.id)) for k in _keys(self)) else (),
                m.DescribeTableResponse(location="/somewhere"),
            ),
        ),
    ),
    "folds the case of tables": (
        "tables.case_of_names",
        method(
            "declare_table",
            lambda self, right, request: right(_named(request, str.lower)),
        ),
    ),
    "puts tables of all namespaces together": (
        "tables.same_name_elsewhere",
        method(
            "describe_table",
            lambda self, right, request: quietly(
                right,
                _ANY if any(k.endswith(json.dumps(request.id[-1]) + "]") for k in _keys(self)) else (),
                m.DescribeTableResponse(location="/somewhere"),
            ),
        ),
    ),
    "replaces the properties of a table that it refuses to declare": (
        "tables.refused_declare_keeps",
        method("declare_table", lambda self, right, request: _replacing(self, request, right)),
    ),
    "keeps the storage options of the first who asked": (
        "tables.storage_options_of_another",
        method(
            "describe_table",
            lambda self, right, request: sliced(
                right(), storage_options=_FIRST.setdefault(type(self), self.config.storage)
            ),
        ),
    ),
    "calls a missing table bad input": (
        "tables.exists_request",
        method("describe_table", lambda self, right, request: _renamed(right, errors.InvalidInput)),
    ),
    "calls a missing table a failure of its own": (
        "bridge.codes",
        method("describe_table", lambda self, right, request: _renamed(right, errors.Internal)),
    ),
    "answers no location on deregistering": (
        "tables.deregister_says_where",
        method("deregister_table", lambda self, right, request: sliced(right(), location=None)),
    ),
    "resumes tables at an offset": (
        "paging.declared_around",
        method("list_tables", lambda self, right, request: _by_offset(self, request, "table")),
    ),
    "repeats namespaces when one is created": (
        "paging.namespace_created_between",
        method("list_namespaces", lambda self, right, request: _by_offset(self, request, "namespace")),
    ),
    "loses namespaces when one is dropped": (
        "paging.namespace_dropped_between",
        method("list_namespaces", lambda self, right, request: _by_offset(self, request, "namespace")),
    ),
    "keeps tokens in the memory of the connection": (
        "paging.namespace_token_survives",
        method("list_namespaces", lambda self, right, request: _in_memory(self, request)),
    ),
    "forgets a token that was used": (
        "paging.token_twice",
        method("list_tables", lambda self, right, request: _used_once(self, request, right)),
    ),
    "refuses an empty token": (
        "paging.empty_token",
        method(
            "list_tables",
            lambda self, right, request: _refuse("no token") if request.page_token == "" else right(),
        ),
    ),
    "takes a namespace that vanished for the end of its listing": (
        "paging.dropped_between",
        method(
            "list_tables",
            lambda self, right, request: (
                quietly(right, errors.NamespaceNotFound, m.ListTablesResponse(tables=[]))
                if request.page_token
                else right()
            ),
        ),
    ),
    "loses names when the limit is large": (
        "paging.large_limit",
        method(
            "list_tables",
            lambda self, right, request: (
                sliced(right(), tables=right().tables[:3]) if (request.limit or 0) > 100 else right()
            ),
        ),
    ),
    "cuts long names": (
        "identifiers.long_names",
        method(
            "declare_table",
            lambda self, right, request: right(_named(request, lambda name: name[:64])),
        ),
    ),
    "takes a dot for two levels": (
        "identifiers.one_level_or_two",
        entry(
            "find_entry",
            lambda right, self, levels: right.find_entry(self, tuple(p for level in levels for p in level.split("."))),
        ),
    ),
    "decodes what nobody encoded": (
        "identifiers.hostile_namespaces_dropped",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, tuple(unquote(level) for level in levels), properties
            ),
        ),
    ),
    "normalises names": (
        "identifiers.lookalikes",
        method(
            "describe_table",
            lambda self, right, request: right(_named(request, lambda name: unicodedata.normalize("NFC", name))),
        ),
    ),
    "strips blanks from names": (
        "identifiers.lookalikes",
        method(
            "describe_table",
            lambda self, right, request: right(_named(request, str.strip)),
        ),
    ),
    "takes numbers for numbers": (
        "identifiers.words",
        method(
            "declare_table",
            lambda self, right, request: right(
                _named(request, lambda name: str(int(name)) if name.isdigit() else name)
            ),
        ),
    ),
    "logs its storage options": (
        "redaction.logs",
        method(
            "describe_table",
            lambda self, right, request: _with(
                logging.getLogger("acme").debug("options: %s", sorted(self.config.storage.items())),
                lambda _: right(),
            ),
        ),
    ),
    "shows its storage options among the properties": (
        "redaction.shown",
        method(
            "describe_table",
            lambda self, right, request: sliced(right(), properties={**right().properties, **self.config.storage}),
        ),
    ),
    "answers null for a table without properties": (
        "properties.table_without",
        method("describe_table", lambda self, right, request: sliced(right(), properties=right().properties or None)),
    ),
    "answers null for some tables": (
        "properties.null_or_not",
        method("describe_table", lambda self, right, request: sliced(right(), properties=right().properties or None)),
    ),
    "cuts long values of tables": (
        "properties.table_large_value",
        method("declare_table", lambda self, right, request: _declared_with(right, request, lambda v: v[:255])),
    ),
    "writes null for empty values of tables": (
        "properties.table_empty_value",
        method("declare_table", lambda self, right, request: _declared_with(right, request, lambda v: v or "null")),
    ),
    "keeps so many properties and no more": (
        "properties.many",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, levels, dict(list(properties.items())[:25])
            ),
        ),
    ),
    "gives a child the properties of its parent": (
        "properties.namespaces_apart",
        entry(
            "create_entry",
            lambda right, self, levels, properties: right.create_entry(
                self, levels, {**(self.find_entry(levels[:-1]) or {}), **properties}
            ),
        ),
    ),
    "calls every error retryable": (
        "connections.not_retryable",
        method("describe_table", lambda self, right, request: _retryable(right)),
    ),
    "names an operation of its own in errors": (
        "connections.errors_of_every_operation",
        method(
            "deregister_table",
            lambda self, right, request: quietly_raise(
                right, errors.TableNotFound, errors.TableNotFound("gone", operation="delete")
            ),
        ),
    ),
    "refuses a context": (
        "connections.context",
        method("describe_table", lambda self, right, request: _refuse("no context") if request.context else right()),
    ),
    "writes data when it declares": (
        "data.declared_or_with_data",
        method("declare_table", lambda self, right, request: _then(right(), _write_there)),
    ),
    "clears the location that it declares": (
        "writing.declared_over_data",
        method(
            "declare_table",
            lambda self, right, request: _then(right(), lambda answer: shutil.rmtree(answer.location, True)),
        ),
    ),
    "deletes data with its namespace": (
        "writing.outlives_namespace",
        entry("remove_entry", lambda right, self, levels: (_clear(self, levels), right.remove_entry(self, levels))[1]),
    ),
    "deletes data when it overwrites a namespace": (
        "writing.overwritten_namespace",
        entry(
            "replace_entry",
            lambda right, self, levels, properties: (
                _clear(self, levels),
                right.replace_entry(self, levels, properties),
            )[1],
        ),
    ),
    "leaves unusual characters out of locations": (
        "writing.unusual_names",
        method(
            "declare_table",
            lambda self, right, request: right(
                attrs.evolve(
                    request, location=f"{self.config.root}/{'/'.join(re.sub(r'[^a-z]', '', x) for x in request.id)}"
                )
            ),
        ),
    ),
    "looks at the storage before it describes": (
        "writing.storage_fails",
        method("describe_table", lambda self, right, request: _then(right(), _look)),
    ),
    "forgets the deepest tables": (
        "everything.every_depth",
        method(
            "list_tables",
            lambda self, right, request: sliced(right(), tables=[] if len(request.id) > 1 else right().tables),
        ),
    ),
    "strips names": (
        "identifiers.hostile_tables",
        method(
            "declare_table",
            lambda self, right, request: right(
                attrs.evolve(request, id=(*request.id[:-1], request.id[-1].strip(".-") or "x"))
            ),
        ),
    ),
}


def _renamed(call: Callable[[], Any], kind: type[Exception]) -> Any:
    try:
        return call()
    except errors.TableNotFound as error:
        raise kind(str(error)) from None


def _then(answer: Any, act: Callable[[Any], Any]) -> Any:
    act(answer)
    return answer


def _unguarded(self: Any, request: Any) -> Any:
    """Look first, then write: what a store without an atomic insert tempts to."""
    from acme_kv import key

    if self.store.get(key("table", request.id)) is not None:
        raise errors.TableAlreadyExists("there is one")
    time.sleep(0.05)
    location = request.location or f"{self.config.root}/{request.id[-1]}"
    self.store.put(key("table", request.id), [location, request.properties or {}])
    return m.DeclareTableResponse(location=location)


def _with(value: Any, act: Callable[[Any], Any]) -> Any:
    return act(value)


def _refuse(why: str) -> Any:
    raise errors.InvalidInput(why)


def _keys(self: Any) -> list[str]:
    keys: list[str] = self.store.keys()
    return keys


def _begin(kind: str, levels: Any) -> str:
    """How the keys of all entries begin whose names begin as this one's."""
    return json.dumps([kind, *levels])[:-2]


def _named(request: Any, change: Callable[[str], str]) -> Any:
    return attrs.evolve(request, id=(*request.id[:-1], change(request.id[-1])))


def _declared_with(right: Any, request: Any, change: Callable[[str], str]) -> Any:
    changed = {key: change(value) for key, value in (request.properties or {}).items()}
    return right(attrs.evolve(request, properties=changed))


def _replacing(self: Any, request: Any, right: Callable[[], Any]) -> Any:
    from acme_kv import key

    found = self.store.get(key("table", request.id))
    if found is not None:
        self.store.put(key("table", request.id), [found[0], request.properties or {}])
    return right()


def _remembered(self: Any, request: Any, right: Callable[[], Any]) -> Any:
    known = self.__dict__.setdefault("known", {})
    if request.id not in known:
        known[request.id] = right()
    return known[request.id]


def _by_offset(self: Any, request: Any, kind: str) -> Any:
    names, start = sorted(self.children(kind, request.id)), int(request.page_token or 0)
    end = len(names) if request.limit is None else start + request.limit
    following = str(end) if end < len(names) else None
    if kind == "table":
        return m.ListTablesResponse(tables=names[start:end], page_token=following)
    return m.ListNamespacesResponse(namespaces=names[start:end], page_token=following)


def _in_memory(self: Any, request: Any) -> Any:
    pages = self.__dict__.setdefault("pages", {})
    if request.page_token and request.page_token not in pages:
        raise errors.InvalidInput("unknown token")
    names = pages[request.page_token] if request.page_token else sorted(self.children("namespace", request.id))
    limit = request.limit or len(names)
    pages[f"rest{len(pages)}"] = names[limit:]
    following = f"rest{len(pages) - 1}" if names[limit:] else None
    return m.ListNamespacesResponse(namespaces=names[:limit], page_token=following)


def _used_once(self: Any, request: Any, right: Callable[[], Any]) -> Any:
    used = self.__dict__.setdefault("used", set())
    if request.page_token in used:
        raise errors.InvalidInput("that token was used")
    if request.page_token:
        used.add(request.page_token)
    return right()


def _retryable(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except errors.LanceNsError as error:
        error.retryable = True
        raise


def _write_there(answer: Any) -> None:
    import lance
    import pyarrow as pa

    lance.write_dataset(pa.table({"id": [0]}), answer.location)


def _look(answer: Any) -> None:
    import lance

    if Path(answer.location, "_versions").exists():
        lance.dataset(answer.location)


def _clear(self: Any, levels: Any) -> None:
    shutil.rmtree(f"{self.config.root}/{'/'.join(levels)}", ignore_errors=True)


# --- the optional operations ---------------------------------------------------------------------------------------

RICH = BASIC | {
    "declare_table.location",
    "drop_namespace.cascade",
    "register_table",
    "register_table.overwrite",
    "rename_table",
    "rename_table.new_namespace_id",
    "alter_table_properties",
}


def rich(kv: Any) -> Any:
    """The right backend with every optional operation."""
    from acme_kv import key

    class RichNamespace(kv.KvNamespace):
        guard = threading.Lock()

        def clear(self, id: Any) -> None:
            for table in self.children("table", id):
                self.store.delete(key("table", (*id, table)))
            for child in self.children("namespace", id):
                self.clear((*id, child))
                self.remove_entry((*id, child))

        @_hook
        def register_table(self, request: Any) -> Any:
            self.require_entry(request.id[:-1])
            value = [request.location, request.properties or {}]
            if request.mode is m.RegisterMode.OVERWRITE:
                self.store.put(key("table", request.id), value)
            elif not self.store.insert(key("table", request.id), value):
                raise errors.TableAlreadyExists("there is one")
            return m.RegisterTableResponse(location=request.location)

        @_hook
        def rename_table(self, request: Any) -> Any:
            found = self.found(request.id)
            parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
            self.require_entry(parent)
            if not self.store.insert(key("table", (*parent, request.new_table_name)), found):
                raise errors.TableAlreadyExists("there is one")
            self.store.delete(key("table", request.id))
            return m.RenameTableResponse()

        @_hook
        def alter_table_properties(self, request: Any) -> Any:
            with self.guard:
                location, properties = self.found(request.id)
                kept = {name: value for name, value in properties.items() if name not in request.removals}
                self.store.put(key("table", request.id), [location, {**kept, **(request.updates or {})}])
                return m.AlterTablePropertiesResponse(properties=self.found(request.id)[1])

        def found(self, id: Any) -> Any:
            value = self.store.get(key("table", id))
            if value is None:
                raise errors.TableNotFound("there is none")
            return value

    return RichNamespace


def _stored(self: Any, id: Any, value: Any) -> Any:
    from acme_kv import key

    self.store.put(key("table", id), value)
    return value


def _target(request: Any) -> Any:
    return (*(request.new_namespace_id or request.id[:-1]), request.new_table_name)


def _unlocked(self: Any, request: Any) -> Any:
    location, properties = self.found(request.id)
    time.sleep(0.05)
    _stored(self, request.id, [location, {**properties, **(request.updates or {})}])
    return m.AlterTablePropertiesResponse(properties=properties)


RICH_MISTAKES: dict[str, tuple[str, Mistake]] = {
    "registers over an existing table": ("registering.existing", request_with("register_table", mode="overwrite")),
    "registers at a place of its own": ("registering.opens", request_with("register_table", location="/somewhere")),
    "loses the properties of a registration": (
        "registering.with_properties",
        request_with("register_table", properties=None),
    ),
    "takes Overwrite of a registration for Create": (
        "registering.overwrite",
        request_with("register_table", mode="create"),
    ),
    "keeps the old place when it registers over it": (
        "registering.overwrite",
        method(
            "register_table",
            lambda self, right, request: (
                quietly(lambda: m.RegisterTableResponse(location=self.found(request.id)[0]), errors.TableNotFound, None)
                or right()
            ),
        ),
    ),
    "deletes the old data when it registers over it": (
        "registering.overwrite",
        method(
            "register_table",
            lambda self, right, request: _with(
                quietly(lambda: self.found(request.id)[0], errors.TableNotFound, "/nowhere/at/all"),
                lambda old: _then(right(), lambda _: shutil.rmtree(old, True)),
            ),
        ),
    ),
    "registers in a missing namespace": (
        "registering.in_missing_namespace",
        method(
            "register_table",
            lambda self, right, request: quietly(
                right, errors.NamespaceNotFound, m.RegisterTableResponse(location=request.location)
            ),
        ),
    ),
    "deletes what was registered when it deregisters": (
        "registering.deregistered",
        method(
            "deregister_table",
            lambda self, right, request: _then(right(), lambda answer: shutil.rmtree(answer.location, True)),
        ),
    ),
    "keeps the old name": (
        "renaming.new_name",
        method(
            "rename_table",
            lambda self, right, request: _with(
                self.found(request.id), lambda found: _then(right(), lambda _: _stored(self, request.id, found))
            ),
        ),
    ),
    "renames nothing": ("renaming.new_name", method("rename_table", lambda *_: m.RenameTableResponse())),
    "loses properties when it renames": (
        "renaming.keeps_properties",
        method(
            "rename_table",
            lambda self, right, request: _then(
                right(), lambda _: _stored(self, _target(request), [self.found(_target(request))[0], {}])
            ),
        ),
    ),
    "gives a renamed table another location": (
        "renaming.keeps_data",
        method(
            "rename_table",
            lambda self, right, request: _then(
                right(), lambda _: _stored(self, _target(request), [f"{self.config.root}/new", {}])
            ),
        ),
    ),
    "renames over another table": (
        "renaming.taken",
        method(
            "rename_table",
            lambda self, right, request: _with(
                _stored(self, _target(request), self.found(request.id)), lambda _: m.RenameTableResponse()
            ),
        ),
    ),
    "takes renaming a missing table for success": (
        "renaming.missing",
        method(
            "rename_table",
            lambda self, right, request: quietly(right, errors.TableNotFound, m.RenameTableResponse()),
        ),
    ),
    "ignores the namespace that a table moves to": (
        "renaming.moved",
        request_with("rename_table", new_namespace_id=None),
    ),
    "moves a table into a missing namespace": (
        "renaming.moved_to_missing",
        method(
            "rename_table",
            lambda self, right, request: quietly(right, errors.NamespaceNotFound, m.RenameTableResponse()),
        ),
    ),
    "replaces all properties": (
        "altering.set_and_removed",
        method(
            "alter_table_properties",
            lambda self, right, request: _with(
                _stored(self, request.id, [self.found(request.id)[0], request.updates or {}]),
                lambda value: m.AlterTablePropertiesResponse(properties=value[1]),
            ),
        ),
    ),
    "forgets removals": ("altering.set_and_removed", request_with("alter_table_properties", removals=())),
    "answers the updates alone": (
        "altering.answers",
        method("alter_table_properties", lambda self, right, request: sliced(right(), properties=request.updates)),
    ),
    "alters missing tables": (
        "altering.missing",
        method(
            "alter_table_properties",
            lambda self, right, request: quietly(right, errors.TableNotFound, m.AlterTablePropertiesResponse()),
        ),
    ),
    "cannot remove what is not there": (
        "altering.remove_absent",
        method(
            "alter_table_properties",
            lambda self, right, request: (
                _refuse("no such property") if set(request.removals) - set(self.found(request.id)[1]) else right()
            ),
        ),
    ),
    "moves a table when it alters it": (
        "altering.keeps_location",
        method(
            "alter_table_properties",
            lambda self, right, request: _then(
                right(), lambda _: _stored(self, request.id, [f"{self.config.root}/new", {}])
            ),
        ),
    ),
    "loses the updates of others": (
        "altering.racing",
        method("alter_table_properties", lambda self, right, request: _unlocked(self, request)),
    ),
    "leaves the tables of a dropped namespace behind": (
        "namespaces.cascade_forgets",
        entry("clear", lambda *_: None),
    ),
    "cascades over what begins alike": (
        "namespaces.cascade_spares",
        entry(
            "clear",
            lambda right, self, levels: [
                self.store.delete(key) for key in _keys(self) if key.startswith(_begin("table", levels))
            ],
        ),
    ),
    "cascades only over what is not empty": (
        "namespaces.cascade_empty",
        entry("clear", lambda right, self, levels: _refuse("it is empty") if self.is_empty(levels) else None),
    ),
    "deletes data when it cascades": (
        "data.cascade_keeps_data",
        entry("clear", lambda right, self, levels: (_clear(self, levels), right.clear(self, levels))[1]),
    ),
}


@pytest.fixture
def rich_subject_with(subject_with: Any, kv: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a subject whose backend has every optional operation."""

    def make(factory: Any = None) -> Any:
        subject = subject_with(factory or rich(kv))
        monkeypatch.setitem(registry._loaded, "kv", attrs.evolve(registry._loaded["kv"], capabilities=RICH))
        return subject

    return make


def test_the_right_backend_passes_everything_that_applies_to_it(subject_with, tmp_path):
    subject = subject_with()
    for number, scenario in enumerate(applicable(subject)[0]):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        with contextlib.suppress(NotApplicable):
            perform(scenario, subject, scratch)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_noticed_by_the_scenario_meant_for_it(subject_with, kv, tmp_path, name):
    caught_by, make = MISTAKES[name]
    scenario = next(each for each in every_scenario() if each.id == caught_by)
    wrong = type("Wrong", (kv.KvNamespace,), make(kv.KvNamespace))
    with pytest.raises((AssertionError, errors.LanceNsError)):
        perform(scenario, subject_with(wrong), tmp_path)


def test_the_right_backend_with_every_optional_operation_passes_what_needs_them(rich_subject_with, tmp_path):
    subject = rich_subject_with()
    fitting = [scenario for scenario in applicable(subject)[0] if not scenario.needs <= BASIC]
    assert {capability for scenario in fitting for capability in scenario.needs} - BASIC == RICH - BASIC
    for number, scenario in enumerate(fitting):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        with contextlib.suppress(NotApplicable):
            perform(scenario, subject, scratch)


@pytest.mark.parametrize("name", RICH_MISTAKES)
def test_a_mistake_in_an_optional_operation_is_noticed(rich_subject_with, kv, tmp_path, name):
    caught_by, make = RICH_MISTAKES[name]
    scenario = next(each for each in every_scenario() if each.id == caught_by)
    right = rich(kv)
    wrong = type("Wrong", (right,), make(right))
    with pytest.raises((AssertionError, errors.LanceNsError)):
        perform(scenario, rich_subject_with(wrong), tmp_path)
