"""The backend: the contract's operations, each over one call of the catalog."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lance_ns import errors, hookimpl
from lance_ns import models as m
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.paging import page_of_names
from lance_ns.rules import NamespaceRules
from lance_ns_conformance.template.config import AcmeConfig
from lance_ns_conformance.template.store import NoParent, NotEmpty, Store, Taken, Unavailable

NAME = "acme"


class AcmeNamespace(NamespaceRules):
    """Namespaces and tables in Acme. `NamespaceRules` has the modes of create and drop."""

    def __init__(self, config: AcmeConfig) -> None:
        self._config = config
        self._store = Store(config.file)

    # --- namespaces: what `NamespaceRules` asks for ---

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Make a namespace."""
        with translated("namespace", id):
            self._store.add_namespace(id, properties)

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a namespace, None when there is none."""
        with translated("namespace", id):
            return self._store.namespace(id)

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Put other properties in place."""
        with translated("namespace", id):
            self._store.set_properties(id, properties)

    def remove_entry(self, id: Levels) -> None:
        """Remove a namespace; the catalog refuses one that is not empty."""
        with translated("namespace", id):
            self._store.remove_namespace(id)

    def is_empty(self, id: Levels) -> bool:
        """Whether nothing lies below."""
        with translated("namespace", id):
            return not self._store.namespaces(id) and not self._store.tables(id)

    @hookimpl
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """One page of names."""
        self.require_entry(request.id)
        with translated("namespace", request.id):
            names, token = page_of_names(NAME, request, self._store.namespaces(request.id))
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---

    @hookimpl
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Enter a table. Its data is not touched."""
        location = request.location or default_location(self._config.root, request.id)
        properties = request.properties or {}
        with translated("table", request.id):
            self._store.add_table(request.id, location, properties)
        return m.DeclareTableResponse(
            location=location,
            storage_options=self._config.storage,
            properties=properties,
        )

    @hookimpl
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """One page of names."""
        self.require_entry(request.id)
        with translated("table", request.id):
            names, token = page_of_names(NAME, request, self._store.tables(request.id))
        return m.ListTablesResponse(tables=names, page_token=token)

    @hookimpl
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the catalog knows."""
        with translated("table", request.id):
            found = self._store.table(request.id)
        if found is None:
            raise errors.TableNotFound(f"table {display(request.id)} not found")
        return m.DescribeTableResponse(
            table=request.id[-1],
            namespace=request.id[:-1],
            location=found[0],
            properties=found[1],
            storage_options=self._config.storage,
        )

    @hookimpl
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Take a table out of the catalog. Its data stays."""
        with translated("table", request.id):
            removed = self._store.remove_table(request.id)
        if removed is None:
            raise errors.TableNotFound(f"table {display(request.id)} not found")
        return m.DeregisterTableResponse(id=request.id, location=removed[0], properties=removed[1])


@contextmanager
def translated(what: str, id: Levels) -> Iterator[None]:
    """The one table from the catalog's errors to those of the contract."""
    try:
        yield
    except Taken as error:
        kind = errors.TableAlreadyExists if what == "table" else errors.NamespaceAlreadyExists
        raise kind(f"{what} {display(id)} already exists", native=str(error)) from error
    except NoParent as error:
        raise errors.NamespaceNotFound(f"namespace {display(id[:-1])} not found", native=str(error)) from error
    except NotEmpty as error:
        raise errors.NamespaceNotEmpty(f"namespace {display(id)} is not empty", native=str(error)) from error
    except Unavailable as error:
        hint = "check the property `file`, and who may read and write it"
        raise errors.ServiceUnavailable(f"the catalog cannot be used: {error}", hint=hint) from error
