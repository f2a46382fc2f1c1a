"""The backend `dir`: pylance's directory namespace stores, the rules that it lacks are here.

Tables and namespaces are entries of a manifest below the root. With `dir_listing_enabled`, datasets `NAME.lance` that
lie in the root without an entry are tables as well, as in a LanceDB directory.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from lance_ns import models as m
from lance_ns.config import StorageOptions
from lance_ns.errors import (
    ConcurrentModification,
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from lance_ns.hookspecs import hookimpl
from lance_ns.identifiers import Levels, display
from lance_ns.paging import page_of_names
from lance_ns.rules import NamespaceRules
from lance_ns_dir.config import DirConfig
from lance_ns_dir.native import NativeDirectory

# `$` and the slashes would lead to another entry or location, a quote into pylance's filter.
_FORBIDDEN = frozenset("$/\\'")
_MAX_FILE_NAME = 255
_HASH_PREFIX = 9
_SUFFIX = ".lance"


class DirNamespace(NamespaceRules):
    """Namespaces and tables below one root."""

    def __init__(self, config: DirConfig) -> None:
        if config.root.startswith(("memory:", "shared-memory:")):
            raise InvalidInput(
                "a root in memory is not supported", hint="pylance opens tables anew: use a temporary directory"
            )
        self._deregistering = threading.Lock()
        self._storage = StorageOptions(config.storage)
        self._manifest = NativeDirectory(config.root, self._storage, dir_listing_enabled="false")
        self._lying_there = (
            NativeDirectory(config.root, self._storage, manifest_enabled="false")
            if config.dir_listing_enabled
            else None
        )

    def close(self) -> None:
        """Let go of the native namespaces."""
        self._manifest.close()
        if self._lying_there:
            self._lying_there.close()

    # --- namespaces -----------------------------------------------------------------------------------------------

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Make an entry; who loses a race learns who has the name now."""
        try:
            self._manifest.ask("create_namespace", id=[*_addressable(id)], properties=dict(properties))
        except (ConcurrentModification, NamespaceAlreadyExists) as error:
            is_namespace = self.find_entry(id) is not None
            if not is_namespace and isinstance(error, ConcurrentModification):
                raise
            raise _taken(NamespaceAlreadyExists, id, "namespace" if is_namespace else "table") from error

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of an entry; the root has none."""
        try:
            return self._manifest.ask("describe_namespace", id=[*_addressable(id)]).get("properties") or {}
        except NamespaceNotFound:
            return None

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Drop and create: pylance cannot change an entry. It refuses to drop one that got a child meanwhile."""
        self.remove_entry(id)
        self._manifest.ask("create_namespace", id=[*id], properties=dict(properties))

    def remove_entry(self, id: Levels) -> None:
        """Remove an entry; one that is gone already is what was wanted."""
        try:
            self._manifest.ask("drop_namespace", id=[*id])
        except NamespaceNotFound:
            return

    def is_empty(self, id: Levels) -> bool:
        """Whether nothing is below an entry."""
        return not self._children(id) and not self._tables(id)

    def clear(self, id: Levels) -> None:
        """Remove what is below an entry, the deepest first."""
        for table in self._tables(id):
            try:
                self._manifest.ask("deregister_table", id=[*id, table])
            except TableNotFound:
                continue  # somebody else was faster, which is what was wanted
        for child in self._children(id):
            self.clear((*id, child))
            self.remove_entry((*id, child))

    @hookimpl
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """All children in one read of the manifest."""
        children = self._children(_addressable(request.id))
        if not children:
            self.require_entry(request.id)  # nothing is listed in what does not exist, either
        names, token = page_of_names("dir", request, children)
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @hookimpl
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Create an entry; pylance chooses a location inside the root."""
        id = self._new_table(request.id)
        try:
            answer = self._manifest.ask("declare_table", id=[*id], properties=dict(request.properties or {}))
        except (ConcurrentModification, TableAlreadyExists) as error:
            raise self._lost(id, error) from error
        return m.DeclareTableResponse(
            location=answer["location"],
            storage_options=self._storage,
            properties=request.properties or {},
        )

    @hookimpl
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """All tables in one read of the manifest, and those that lie in the root."""
        tables = self._tables(_addressable(request.id))
        if not tables:
            self.require_entry(request.id)  # nothing is listed in what does not exist, either
        names, token = page_of_names("dir", request, tables)
        return m.ListTablesResponse(tables=names, page_token=token)

    @hookimpl
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the entry says."""
        id = _addressable(request.id)
        answer = self._described(id)
        return m.DescribeTableResponse(
            table=id[-1],
            namespace=id[:-1],
            location=answer["location"],
            storage_options=self._storage,
            properties=answer.get("properties") or {},
        )

    @hookimpl
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Remove the entry. A dataset that lies in the root without one is marked as deregistered."""
        id = _addressable(request.id)
        with self._deregistering:  # pylance tells everybody that comes at once that it was they
            answer = self._described(id)
            try:
                answer["holder"].ask("deregister_table", id=[*id])
            except TableNotFound as error:
                raise _no_table(id) from error
        return m.DeregisterTableResponse(id=id, location=answer["location"], properties=answer.get("properties") or {})

    @hookimpl
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Create an entry for a dataset inside the root; `location` is relative to it."""
        id = self._new_table(request.id)
        if request.location.strip("./") == "":
            raise InvalidInput(f"{request.location!r} is not a table's location", hint="give a path below the root")
        try:
            self._manifest.ask(
                "register_table", id=[*id], location=request.location, properties=dict(request.properties or {})
            )
        except (ConcurrentModification, TableAlreadyExists) as error:
            raise self._lost(id, error) from error
        described = self._described(id)
        return m.RegisterTableResponse(location=described["location"], properties=described.get("properties") or {})

    # --- inside ---------------------------------------------------------------------------------------------------

    def _children(self, id: Levels) -> list[str]:
        names: list[str] = self._manifest.ask("list_namespaces", id=[*id])["namespaces"]
        return names

    def _tables(self, id: Levels) -> set[str]:
        names = set(self._manifest.ask("list_tables", id=[*id])["tables"])
        if not id and self._lying_there:
            found = {name for name in self._lying_there.ask("list_tables", id=[])["tables"] if _is_plain(name)}
            names |= found - {self._file_name(name) for name in names if name.endswith(_SUFFIX)}
        return names

    def _file_name(self, table: str) -> str:
        """The name that the directory of a table with an entry has, without the suffix of those without one."""
        location: str = self._manifest.ask("describe_table", id=[table])["location"]
        return location.rpartition("/")[2].removesuffix(_SUFFIX)

    def _described(self, id: Levels) -> dict[str, Any]:
        try:
            return {**self._manifest.ask("describe_table", id=[*id]), "holder": self._manifest}
        except (TableNotFound, NamespaceNotFound) as error:
            if len(id) == 1 and self._lying_there and _is_plain(id[0]):
                try:
                    return {**self._lying_there.ask("describe_table", id=[*id]), "holder": self._lying_there}
                except TableNotFound:
                    pass
            raise _no_table(id) from error

    def _new_table(self, id: Levels) -> Levels:
        id = _addressable(id)
        self.require_entry(id[:-1])
        if len(id) == 1 and self._table_if_exists(id):
            raise TableAlreadyExists(f"table {display(id)} already exists")
        return id

    def _table_if_exists(self, id: Levels) -> dict[str, Any] | None:
        try:
            return self._described(id)
        except TableNotFound:
            return None

    def _lost(self, id: Levels, error: LanceNsError) -> LanceNsError:
        """Who lost a race, or came late, learns who has the name now: read back, then answer."""
        is_table = self._table_if_exists(id) is not None
        if not is_table and isinstance(error, ConcurrentModification):
            return error
        return _taken(TableAlreadyExists, id, "table" if is_table else "namespace")


def _addressable(id: Levels) -> Levels:
    """Refuse what pylance's directory namespace would read as another identifier, or store outside of the root."""
    for level in id:
        found = _FORBIDDEN & set(level)
        if found:
            raise InvalidInput(f"{' and '.join(sorted(found))} cannot stand in a name here: {level!r}")
    # The longest file name that an entry leads to is its identifier, percent-encoded twice.
    if _HASH_PREFIX + len(quote(quote("$".join(id), safe=""), safe="")) > _MAX_FILE_NAME:
        raise InvalidInput("the identifier is too long for a file name", hint="use shorter names, or fewer levels")
    return id


def _is_plain(name: str) -> bool:
    """Whether a file name and the table's name are surely the same; pylance encodes others more than once."""
    return name.replace("_", "").replace("-", "").replace(".", "").isalnum() and name.isascii()


def _taken(kind: type[LanceNsError], id: Levels, holder: str) -> LanceNsError:
    """Tables and namespaces share one set of names."""
    return kind(f"{holder} {display(id)} already exists")


def _no_table(id: Levels) -> TableNotFound:
    return TableNotFound(f"table {display(id)} not found")
