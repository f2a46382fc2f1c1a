"""The hooks: one for each namespace operation, and one by which a plugin registers its backend.

A backend is a class that derives from `Operations`, so that type checkers compare its signatures, and marks what it
implements with `@hookimpl`. Every hook takes one request and returns its response; returning None is an error, never
"ask the next plugin". Errors are raised as the classes of `lance_ns.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from lance_ns.capabilities import KNOWN

if TYPE_CHECKING:  # the models are not needed to find a backend, and cost as much as all the rest
    from lance_ns import models as m
    from lance_ns.config import StorageProperties

PROJECT = "lance_ns"
HOOKSPEC_VERSION = 1
"""Grows when a hook changes in a way that old plugins cannot live with."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Operations:
    """The namespace operations. Each hook stops at the first answer."""

    @hookspec(firstresult=True)
    def create_namespace(self, request: m.CreateNamespaceRequest) -> m.CreateNamespaceResponse:
        """Create a namespace.

        Mode Create answers NamespaceAlreadyExists when it exists; ExistOk leaves it as it is; Overwrite replaces the
        properties of an empty one and answers NamespaceNotEmpty otherwise. A missing parent is NamespaceNotFound.

        Example:
            @hookimpl
            def create_namespace(self, request):
                self.store.add(request.id, request.properties or {})
                return CreateNamespaceResponse(properties=request.properties or {})
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """List one page of child namespaces, by names relative to `request.id`.

        Example:
            @hookimpl
            def list_namespaces(self, request):
                names, token = page_of_names("acme", request, self.store.children(request.id))
                return ListNamespacesResponse(namespaces=names, page_token=token)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def describe_namespace(self, request: m.DescribeNamespaceRequest) -> m.DescribeNamespaceResponse:
        """Describe a namespace; NamespaceNotFound when there is none. The root always exists.

        Example:
            @hookimpl
            def describe_namespace(self, request):
                return DescribeNamespaceResponse(properties=self.store.properties(request.id))
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """Drop a namespace, never the data of a table.

        Mode Fail answers NamespaceNotFound for a missing one, Skip succeeds. Behavior Restrict answers
        NamespaceNotEmpty when it holds anything at all; Cascade removes the entries first.

        Example:
            @hookimpl
            def drop_namespace(self, request):
                self.store.remove(request.id, recursive=request.behavior is DropBehavior.CASCADE)
                return DropNamespaceResponse()
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Enter a table in the catalog, at `request.location` or a default one, without touching data there.

        Example:
            @hookimpl
            def declare_table(self, request):
                location = request.location or default_location(self.root, request.id)
                self.store.add(request.id, location)
                return DeclareTableResponse(location=location, storage_options=self.config.storage)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """List one page of Lance tables, by names relative to `request.id`.

        Example:
            @hookimpl
            def list_tables(self, request):
                names, token = page_of_names("acme", request, self.store.tables(request.id))
                return ListTablesResponse(tables=names, page_token=token)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """Describe a table from what the catalog knows, without touching storage.

        A missing table, or namespace, is TableNotFound; a table of another format InvalidInput.

        Example:
            @hookimpl
            def describe_table(self, request):
                return DescribeTableResponse(location=self.store.location(request.id))
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Take a Lance table out of the catalog and leave its data alone.

        Example:
            @hookimpl
            def deregister_table(self, request):
                return DeregisterTableResponse(id=request.id, location=self.store.remove(request.id))
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def namespace_exists(self, request: m.NamespaceExistsRequest) -> m.NamespaceExistsResponse:
        """Answer when a namespace exists, NamespaceNotFound otherwise. Only worth it where it is cheaper than
        describing.

        Example:
            @hookimpl
            def namespace_exists(self, request):
                self.client.head(request.id)
                return NamespaceExistsResponse()
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def table_exists(self, request: m.TableExistsRequest) -> m.TableExistsResponse:
        """Answer when a table exists, TableNotFound otherwise. Only worth it where it is cheaper than describing.

        Example:
            @hookimpl
            def table_exists(self, request):
                self.client.head(request.id)
                return TableExistsResponse()
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def list_all_tables(self, request: m.ListAllTablesRequest) -> m.ListTablesResponse:
        """List every Lance table below `request.id`, as identifiers joined by `$`. Only where one call can do it.

        Example:
            @hookimpl
            def list_all_tables(self, request):
                names, token = page_of_names("acme", request, self.store.all_tables(request.id))
                return ListTablesResponse(tables=names, page_token=token)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Enter a table whose data exists at `request.location`.

        Example:
            @hookimpl
            def register_table(self, request):
                self.store.add(request.id, request.location)
                return RegisterTableResponse(location=request.location)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def rename_table(self, request: m.RenameTableRequest) -> m.RenameTableResponse:
        """Give a table a new name. Its data stays where it is.

        Example:
            @hookimpl
            def rename_table(self, request):
                parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
                self.store.move(request.id, (*parent, request.new_table_name))
                return RenameTableResponse()
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def alter_table_properties(self, request: m.AlterTablePropertiesRequest) -> m.AlterTablePropertiesResponse:
        """Set and remove properties of a table in one step; a lost race is ConcurrentModification, never a lost update.

        Example:
            @hookimpl
            def alter_table_properties(self, request):
                properties = self.store.update(request.id, request.updates or {}, request.removals)
                return AlterTablePropertiesResponse(properties=properties)
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def drop_table(self, request: m.DropTableRequest) -> m.DropTableResponse:
        """Drop a table in the catalog's own way. Without it the facade deregisters, and deletes data only when asked.

        Example:
            @hookimpl
            def drop_table(self, request):
                return DropTableResponse(id=request.id, location=self.store.remove(request.id))
        """
        raise NotImplementedError


def _words(capabilities: Iterable[str]) -> frozenset[str]:
    return frozenset(capabilities)


def _known(_: Any, __: Any, capabilities: frozenset[str]) -> None:
    unknown = capabilities - KNOWN
    if unknown:
        raise ValueError(f"unknown capabilities: {', '.join(sorted(unknown))}")


@attrs.frozen(kw_only=True, eq=False)
class Backend:
    """What a plugin registers: a name, and where its parts are.

    Attributes:
        name: the entry point's name, by which users connect.
        summary: one line for `lance-ns backends`.
        hookspec: the HOOKSPEC_VERSION that the plugin was written for; checked when it is loaded.
        config: the class of its properties, or `"module:Class"` to import it when it is needed.
        factory: makes the backend from its properties; a callable or `"module:Class"`.
        capabilities: what it can do, see `lance_ns.capabilities`.
        display_delimiter: how identifiers of this catalog are shown to people.
    """

    name: str
    summary: str
    hookspec: int
    config: str | type[StorageProperties]
    factory: str | Callable[[Any], Operations]
    capabilities: frozenset[str] = attrs.field(converter=_words, validator=_known)
    display_delimiter: str = "$"


class Registration:
    """The hook that a plugin's entry point implements."""

    @hookspec(firstresult=True)
    def lance_ns_backend(self) -> Backend:
        """Return the backend of this plugin. Importing the module that holds this hook must import no SDK.

        Example:
            @hookimpl
            def lance_ns_backend():
                return Backend(
                    name="acme",
                    summary="The Acme catalog",
                    hookspec=1,
                    config="lance_ns_acme.config:AcmeConfig",
                    factory="lance_ns_acme.backend:AcmeNamespace",
                    capabilities=BASIC,
                )
        """
        raise NotImplementedError
