"""The facade: what users hold after `connect`. Typed methods over the hooks of one backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar

import pluggy

from lance_ns import config as configuration
from lance_ns import derived, registry
from lance_ns import models as m
from lance_ns.capabilities import OPERATIONS, TABLE_OPERATIONS, lacking
from lance_ns.errors import (
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceNotFound,
    TableNotFound,
    TableVersionNotFound,
    Unsupported,
)
from lance_ns.hookspecs import PROJECT, Backend, Operations
from lance_ns.identifiers import DELIMITER, Identifier, Levels, display, levels, split
from lance_ns.middleware import refuse_what_is_no_middleware

if TYPE_CHECKING:
    import lance
    import lance_namespace
    import pyarrow as pa

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=m.Response)

WriteMode = Literal["create", "append", "overwrite"]


def _located(method: Callable[Concatenate[Namespace, P], T]) -> Callable[Concatenate[Namespace, P], T]:
    """Errors that a method raises name the backend, and show none of the connection's secrets."""

    @wraps(method)
    def wrapper(self: Namespace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except LanceNsError as error:
            self.locate(error)
            del args, kwargs  # a traceback shows the locals of its frames, and storage options may be among them
            raise

    return wrapper


class Namespace:
    """A connection to a catalog.

    It may be shared by threads, used after a fork, pickled (with its secrets) and used as a context manager. An
    identifier is a delimited string (`"ml$docs"`) or a sequence of levels; None, `""` and `"$"` are the root.
    """

    def __init__(
        self, backend: Backend, config: Any, *, plugins: Iterable[object] = (), delimiter: str = DELIMITER
    ) -> None:
        self._backend = backend
        self._config = config
        self._redact = configuration.Redactor(configuration.secrets_of(config))
        self._delimiter = delimiter
        self._plugins = tuple(plugins)
        self._closed = False
        self._implementation = self._made()
        self._manager = _relay(backend, self._implementation, self._plugins)

    # --- the connection itself ------------------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """The backend's name."""
        return self._backend.name

    @property
    def capabilities(self) -> frozenset[str]:
        """What this connection can do: what the backend declares, less what its server lacks."""
        narrowed: frozenset[str] | None = getattr(self._implementation, "capabilities", None)
        return self._backend.capabilities if narrowed is None else self._backend.capabilities & narrowed

    def namespace_id(self) -> str:
        """A key that differs between connections that differ in any property, and shows none of them."""
        import hmac

        settings = repr(
            sorted((name, _revealed(value)) for name, value in configuration.resolved(self._config).items())
        )
        digest = hmac.new(_process_key(), settings.encode(), "sha256").hexdigest()
        return f"lance-ns:{self.backend}:{digest[:32]}"

    def close(self) -> None:
        """Release what the backend holds. Calls after this are InvalidInput; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        failure: LanceNsError
        try:
            getattr(self._implementation, "close", lambda: None)()
        except LanceNsError as error:
            failure = error
        except Exception as error:  # noqa: BLE001  # a backend is foreign code
            failure = _unforeseen(error, "closing failed unexpectedly")
        else:
            return
        self.locate(failure)
        raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Namespace {self.backend}{' closed' if self._closed else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from lance_ns.connection import reconnect

        return reconnect, (self.backend, configuration.resolved(self._config), self._plugins, self._delimiter)

    # --- the one way to the backend -------------------------------------------------------------------------------

    def call(self, request: m.Request[R]) -> R:
        """Send one request to the backend's hook and check its answer.

        What the backend did not declare is Unsupported before anything is sent. The keyword methods add what can be
        built from the basic operations.
        """
        failure: LanceNsError
        try:
            if self._closed:
                raise InvalidInput("the connection is closed", hint="connect again")
            if not request.id and request.operation in TABLE_OPERATIONS:
                raise InvalidInput("the root is not a table", hint="name a table")
            lacks = lacking(request, self.capabilities)
            if lacks is not None:
                raise Unsupported(f"{lacks[1]} is not supported", native=lacks[0])
            response = getattr(self._manager.hook, request.operation)(request=request)
            if isinstance(response, request.response):
                return response  # type: ignore[return-value]  # a response is of the class that its request names
            raise Internal(f"{request.operation} answered {type(response).__name__}, not {request.response.__name__}")
        except LanceNsError as error:
            self._locate_call(error, request)
            raise
        except Exception as error:  # noqa: BLE001  # what a backend did not foresee is an error of the taxonomy too
            failure = _unforeseen(error, f"{request.operation} failed unexpectedly")
        self._locate_call(failure, request)
        raise failure

    def parse(self, identifier: Identifier) -> Levels:
        """The checked levels of an identifier as this connection reads it."""
        return levels(self._split(identifier))

    def _split(self, identifier: Identifier) -> Sequence[str]:
        return split(identifier, self._delimiter)

    def show(self, identifier: Sequence[str]) -> str:
        """An identifier as people of this catalog read it."""
        return display(identifier, self._backend.display_delimiter)

    # --- namespaces -----------------------------------------------------------------------------------------------

    @_located
    def create_namespace(
        self,
        id: Identifier,
        *,
        mode: m.CreateMode | str = m.CreateMode.CREATE,
        properties: Mapping[str, str] | None = None,
    ) -> m.CreateNamespaceResponse:
        """Create a namespace.

        Mode `exist_ok` keeps an existing one, `overwrite` replaces the properties of an empty one.
        """
        return derived.serve(self, m.CreateNamespaceRequest(id=self._split(id), mode=mode, properties=properties))

    @_located
    def list_namespaces(self, id: Identifier = None) -> Iterator[str]:
        """The names of the child namespaces, relative to `id`, page after page."""
        return derived.every_name(self, m.ListNamespacesRequest(id=self._split(id)))

    @_located
    def list_namespaces_page(
        self, id: Identifier = None, *, limit: int | None = None, page_token: str | None = None
    ) -> m.ListNamespacesResponse:
        """One page of child namespaces; its `page_token` asks for the next, None is the end."""
        return derived.serve(self, m.ListNamespacesRequest(id=self._split(id), limit=limit, page_token=page_token))

    @_located
    def describe_namespace(self, id: Identifier = None) -> m.DescribeNamespaceResponse:
        """The properties of a namespace."""
        return derived.serve(self, m.DescribeNamespaceRequest(id=self._split(id)))

    @_located
    def drop_namespace(
        self,
        id: Identifier,
        *,
        mode: m.DropMode | str = m.DropMode.FAIL,
        behavior: m.DropBehavior | str = m.DropBehavior.RESTRICT,
    ) -> m.DropNamespaceResponse:
        """Drop a namespace; `skip` accepts that it is missing, `cascade` drops what it holds. Table data stays."""
        return derived.serve(self, m.DropNamespaceRequest(id=self._split(id), mode=mode, behavior=behavior))

    @_located
    def namespace_exists(self, id: Identifier = None) -> bool:
        """Whether a namespace exists."""
        request = m.NamespaceExistsRequest(id=self._split(id))
        try:
            derived.serve(self, request)
        except (NamespaceNotFound, InvalidInput):  # at a depth the catalog does not have, there is none
            if self._closed:
                raise
            return False
        return True

    # --- tables ---------------------------------------------------------------------------------------------------

    @_located
    def declare_table(
        self,
        id: Identifier,
        *,
        location: str | None = None,
        properties: Mapping[str, str] | None = None,
        schema: pa.Schema | None = None,
        vend_credentials: bool | None = None,
    ) -> m.DeclareTableResponse:
        """Enter a table in the catalog without data. The answer says where to write it."""
        return derived.serve(
            self,
            m.DeclareTableRequest(
                id=self._split(id),
                location=location,
                properties=properties,
                schema=schema,
                vend_credentials=vend_credentials,
            ),
        )

    @_located
    def list_tables(self, id: Identifier = None, *, include_declared: bool = True) -> Iterator[str]:
        """The names of the Lance tables, relative to `id`, page after page.

        With `include_declared=False` the storage of every table is looked at, some side by side.
        """
        return derived.every_name(self, m.ListTablesRequest(id=self._split(id), include_declared=include_declared))

    @_located
    def list_tables_page(
        self,
        id: Identifier = None,
        *,
        limit: int | None = None,
        page_token: str | None = None,
        include_declared: bool = True,
    ) -> m.ListTablesResponse:
        """One page of tables; its `page_token` asks for the next, None is the end. A page may be short."""
        return derived.serve(
            self,
            m.ListTablesRequest(
                id=self._split(id), limit=limit, page_token=page_token, include_declared=include_declared
            ),
        )

    @_located
    def list_all_tables(self, id: Identifier = None, *, include_declared: bool = True) -> Iterator[Levels]:
        """The identifiers of all tables in a namespace and below it."""
        return derived.walk(self, m.ListTablesRequest(id=self._split(id), include_declared=include_declared))

    @_located
    def describe_table(
        self,
        id: Identifier,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        with_table_uri: bool = False,
        load_detailed_metadata: bool = False,
        check_declared: bool = False,
        vend_credentials: bool | None = None,
    ) -> m.DescribeTableResponse:
        """What the catalog knows of a table.

        With `load_detailed_metadata` or `version` the table is opened for its version, schema and stats;
        `check_declared` tells whether it has data.
        """
        return derived.serve(
            self,
            m.DescribeTableRequest(
                id=self._split(id),
                version=version,
                tag=tag,
                branch=branch,
                with_table_uri=with_table_uri,
                load_detailed_metadata=load_detailed_metadata,
                check_declared=check_declared,
                vend_credentials=vend_credentials,
            ),
        )

    @_located
    def table_exists(self, id: Identifier, *, version: int | None = None) -> bool:
        """Whether a Lance table exists, at `version` if one is given."""
        request = m.TableExistsRequest(id=self._split(id), version=version)
        try:
            derived.serve(self, request)
        except (
            TableNotFound,
            TableVersionNotFound,
            InvalidInput,
        ):  # neither a table of another format nor a wrong depth is a Lance table
            if self._closed:
                raise
            return False
        return True

    @_located
    def register_table(
        self,
        id: Identifier,
        location: str,
        *,
        mode: m.RegisterMode | str = m.RegisterMode.CREATE,
        properties: Mapping[str, str] | None = None,
        schema: pa.Schema | None = None,
    ) -> m.RegisterTableResponse:
        """Enter a table whose data is at `location`; a catalog that keeps columns makes them of `schema`."""
        return derived.serve(
            self,
            m.RegisterTableRequest(
                id=self._split(id), location=location, mode=mode, properties=properties, schema=schema
            ),
        )

    @_located
    def rename_table(
        self, id: Identifier, new_table_name: str, *, new_namespace_id: Identifier = None
    ) -> m.RenameTableResponse:
        """Give a table another name, in another namespace if one is given. Its data stays where it is."""
        return derived.serve(
            self,
            m.RenameTableRequest(
                id=self._split(id),
                new_table_name=new_table_name,
                new_namespace_id=None if new_namespace_id is None else self.parse(new_namespace_id),
            ),
        )

    @_located
    def alter_table_properties(
        self, id: Identifier, updates: Mapping[str, str] | None = None, *, removals: Sequence[str] = ()
    ) -> m.AlterTablePropertiesResponse:
        """Set and remove properties of a table in one step."""
        return derived.serve(
            self, m.AlterTablePropertiesRequest(id=self._split(id), updates=updates, removals=removals)
        )

    @_located
    def deregister_table(self, id: Identifier) -> m.DeregisterTableResponse:
        """Take a table out of the catalog. Its data stays; the answer says where."""
        return derived.serve(self, m.DeregisterTableRequest(id=self._split(id)))

    @_located
    def drop_table(self, id: Identifier, *, delete_data: bool = False) -> m.DropTableResponse:
        """Take a table out of the catalog, and with `delete_data=True` delete its data if it is a Lance dataset."""
        return derived.serve(self, m.DropTableRequest(id=self._split(id), delete_data=delete_data))

    # --- data, through pylance ------------------------------------------------------------------------------------

    @_located
    def dataset(self, id: Identifier, /, *, version: int | str | None = None, **options: Any) -> lance.LanceDataset:
        """Open a table, at a version number or tag if one is given; `options` go to `lance.dataset`."""
        from lance_ns.lance import datasets

        options = configuration.Hidden(options)
        return datasets.open_table(self, self.parse(id), version, options)

    @_located
    def write(
        self,
        id: Identifier,
        data: Any,
        /,
        *,
        mode: WriteMode = "create",
        location: str | None = None,
        properties: Mapping[str, str] | None = None,
        **options: Any,
    ) -> lance.LanceDataset:
        """Write a table: anything that pylance reads, declared in the catalog first when it is new.

        | mode      | missing       | declared, no data    | with data           |
        |-----------|---------------|----------------------|---------------------|
        | create    | declare, v1   | v1                   | TableAlreadyExists  |
        | append    | TableNotFound | v1                   | a version with more |
        | overwrite | declare, v1   | v1                   | a version with this |

        Of several writers that create one table, exactly one succeeds. A create that fails leaves nothing behind in
        the catalog. `location` and `properties` are those of a new table; `options` go to pylance.
        """
        from lance_ns.lance import datasets

        options = configuration.Hidden(options)
        return datasets.write_table(self, self.parse(id), data, mode, location, properties, options)

    def create_table(
        self,
        id: Identifier,
        data: Any,
        /,
        *,
        location: str | None = None,
        properties: Mapping[str, str] | None = None,
        **options: Any,
    ) -> lance.LanceDataset:
        """Create a table with data: `write` in mode `create`."""
        options = configuration.Hidden(options)
        return self.write(id, data, mode="create", location=location, properties=properties, **options)

    def as_lance(self, *, drop_deletes_data: bool = False) -> lance_namespace.LanceNamespace:
        """This connection as a `lance_namespace.LanceNamespace`, for pylance, LanceDB and whatever takes one.

        A `drop_table` that comes through it deletes data only with `drop_deletes_data`.
        """
        from lance_ns.lance.bridge import BridgedNamespace

        return BridgedNamespace.over(self, drop_deletes_data=drop_deletes_data)

    # --- inside ---------------------------------------------------------------------------------------------------

    @property
    def storage(self) -> Mapping[str, str]:
        """The connection's own storage options, without their prefix."""
        options: Mapping[str, str] = self._config.storage
        return options

    def _locate_call(self, error: LanceNsError, request: m.Request[Any]) -> None:
        error.within(backend=self.backend, operation=request.operation, identifier=request.id)
        if request.identity is not None:
            secrets = [secret for secret in (request.identity.api_key, request.identity.auth_token) if secret]
            self._hide(error, configuration.Redactor(secrets))
        self.locate(error)

    def locate(self, error: LanceNsError) -> None:
        """Make an error name this backend, and show none of this connection's secrets."""
        error.within(backend=self.backend, operation=None, identifier=None)
        self._hide(error, self._redact)

    @staticmethod
    def _hide(error: LanceNsError, redact: Callable[[str], str]) -> None:
        """Take secrets out of an error, and let go of its causes if one of them would show one when it is printed."""
        error.rewritten(redact)
        if any(redact(text) != text for text in _texts_behind(error)):
            error.__cause__ = error.__context__ = None

    def _made(self) -> Operations:
        failure: LanceNsError
        try:
            implementation: Operations = registry.part(self._backend, self._backend.factory)(self._config)
        except LanceNsError as error:
            self.locate(error)
            raise
        except Exception as error:  # noqa: BLE001  # a factory is foreign code
            failure = _unforeseen(error, "connecting failed unexpectedly")
        else:
            return implementation
        self.locate(failure)
        raise failure


def _relay(backend: Backend, implementation: Operations, plugins: Iterable[object]) -> pluggy.PluginManager:
    """The plugin manager of one connection: the backend, and the middleware around it."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Operations)
    try:
        manager.register(implementation, name=backend.name)
    except pluggy.PluginValidationError as error:
        raise Internal(f"a hook of the backend is wrong: {error}", backend=backend.name) from None
    implemented = {caller.name for caller in manager.get_hookcallers(implementation) or ()}
    declared = backend.capabilities & OPERATIONS
    if implemented != declared:
        differing = ", ".join(sorted(implemented ^ declared))
        raise Internal(
            f"what the backend declares and what it implements differ: {differing}",
            backend=backend.name,
            hint="every declared operation needs a method marked with @hookimpl, and every such method its declaration",
        )
    for plugin in plugins:
        middleware = registry.named_object(registry.MIDDLEWARE, plugin) if isinstance(plugin, str) else plugin
        refuse_what_is_no_middleware(manager, middleware)
        if manager.is_registered(middleware):
            raise InvalidInput(f"the middleware {plugin!r} is given twice", backend=backend.name)
        try:
            manager.register(middleware)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise InvalidInput(
                f"a hook of the middleware is wrong: {error}",
                backend=backend.name,
                hint="hooks are named as operations are, take `request`, and yield once",
            ) from None
    return manager


def _unforeseen(error: Exception, what: str) -> Internal:
    failure = Internal(f"{what}: {type(error).__name__}: {error}", native=type(error).__name__)
    failure.__cause__ = error
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure


def _texts_behind(error: BaseException) -> Iterator[str]:
    """All that is printed of what an error was caused by."""
    seen, pending = {id(error)}, [error.__cause__, error.__context__]
    while pending:
        cause = pending.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield str(cause)
        yield from getattr(cause, "__notes__", ())
        pending += [cause.__cause__, cause.__context__, *getattr(cause, "exceptions", ())]


def _revealed(value: Any) -> str:
    return value.reveal() if isinstance(value, configuration.Secret) else repr(value)


_key: list[bytes] = []


def _process_key() -> bytes:
    """A plain hash of a secret could be guessed; one with a key that dies with the process cannot."""
    if not _key:
        import secrets

        _key.append(secrets.token_bytes(32))
    return _key[0]
