"""Operations on namespaces."""

from collections.abc import Mapping, Sequence

import attrs

from lance_ns.models.base import Request, Response
from lance_ns.models.checks import limit, string_map, text
from lance_ns.models.choices import CreateMode, DropBehavior, DropMode, create_mode, drop_behavior, drop_mode


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListNamespacesResponse(Response):
    """One page of the names of the child namespaces, relative to the parent."""

    namespaces: Sequence[str]
    page_token: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListNamespacesRequest(Request[ListNamespacesResponse]):
    """List the child namespaces of `id`."""

    operation = "list_namespaces"
    response = ListNamespacesResponse

    page_token: str | None = attrs.field(default=None, validator=text)
    limit: int | None = attrs.field(default=None, validator=limit)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeNamespaceResponse(Response):
    """The properties of a namespace: None where the backend keeps none, empty where none are set."""

    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeNamespaceRequest(Request[DescribeNamespaceResponse]):
    """Describe the namespace `id`."""

    operation = "describe_namespace"
    response = DescribeNamespaceResponse


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CreateNamespaceResponse(Response):
    """The properties that the namespace has now."""

    transaction_id: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CreateNamespaceRequest(Request[CreateNamespaceResponse]):
    """Create the namespace `id`."""

    operation = "create_namespace"
    response = CreateNamespaceResponse

    mode: CreateMode = attrs.field(default=None, converter=create_mode)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=string_map)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropNamespaceResponse(Response):
    """The properties that the namespace had."""

    properties: Mapping[str, str] | None = None
    transaction_id: Sequence[str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropNamespaceRequest(Request[DropNamespaceResponse]):
    """Drop the namespace `id`. Table data is never deleted."""

    operation = "drop_namespace"
    response = DropNamespaceResponse

    mode: DropMode = attrs.field(default=None, converter=drop_mode)
    behavior: DropBehavior = attrs.field(default=None, converter=drop_behavior)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NamespaceExistsResponse(Response):
    """The namespace exists; its absence is NamespaceNotFound."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NamespaceExistsRequest(Request[NamespaceExistsResponse]):
    """Ask whether the namespace `id` exists."""

    operation = "namespace_exists"
    response = NamespaceExistsResponse
