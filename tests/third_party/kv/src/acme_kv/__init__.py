"""Lance tables in Acme's key-value store: a complete backend."""

import json
from collections.abc import Mapping
from typing import Any

from acme_kv.store import Store
from lance_ns import BASIC, REQUIRED, Backend, StorageProperties, errors, hookimpl, prop, properties
from lance_ns import models as m
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.paging import page_of_names
from lance_ns.rules import NamespaceRules


@properties
class KvConfig(StorageProperties):
    file: str = prop(REQUIRED, "The file of the store", location=True)
    root: str = prop(REQUIRED, "Where tables are written", location=True)


class KvNamespace(NamespaceRules):
    def __init__(self, config: KvConfig) -> None:
        self.config, self.store = config, Store(config.file)

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        self.require_entry(id[:-1])
        if not id or not self.store.insert(key("namespace", id), properties):
            raise errors.NamespaceAlreadyExists(f"namespace {display(id)} already exists")

    def find_entry(self, id: Levels) -> Any:
        return self.store.get(key("namespace", id)) if id else {}

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        self.store.put(key("namespace", id), properties)

    def remove_entry(self, id: Levels) -> None:
        self.store.delete(key("namespace", id))

    def is_empty(self, id: Levels) -> bool:
        return not self.children("namespace", id) and not self.children("table", id)

    def children(self, kind: str, id: Levels) -> list[str]:
        self.require_entry(id)
        return [name for *parent, name in map(json.loads, self.store.keys()) if parent == [kind, *id]]

    @hookimpl
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        names, token = page_of_names("kv", request, self.children("namespace", request.id))
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    @hookimpl
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        self.require_entry(request.id[:-1])
        location = request.location or default_location(self.config.root, request.id)
        if not self.store.insert(key("table", request.id), [location, request.properties or {}]):
            raise errors.TableAlreadyExists(f"table {display(request.id)} already exists")
        properties = request.properties or {}
        return m.DeclareTableResponse(location=location, storage_options=self.config.storage, properties=properties)

    @hookimpl
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        names, token = page_of_names("kv", request, self.children("table", request.id))
        return m.ListTablesResponse(tables=names, page_token=token)

    @hookimpl
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        if (found := self.store.get(key("table", request.id))) is None:
            raise errors.TableNotFound(f"table {display(request.id)} not found")
        return m.DescribeTableResponse(
            table=request.id[-1],
            namespace=request.id[:-1],
            location=found[0],
            properties=found[1],
            storage_options=self.config.storage,
        )

    @hookimpl
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        found = self.describe_table(m.DescribeTableRequest(id=request.id))
        if not self.store.delete(key("table", request.id)):
            raise errors.TableNotFound(f"table {display(request.id)} not found")
        return m.DeregisterTableResponse(id=request.id, location=found.location, properties=found.properties)


def key(kind: str, id: Levels) -> str:
    return json.dumps([kind, *id])


@hookimpl
def lance_ns_backend() -> Backend:
    capabilities = BASIC | {"declare_table.location"}
    return Backend(
        name="kv",
        summary="Key-value store",
        hookspec=1,
        config=KvConfig,
        factory=KvNamespace,
        capabilities=capabilities,
    )
