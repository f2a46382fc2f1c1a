"""The contract's rules for modes and behaviours, so that a backend supplies only what its catalog does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, TypeVar

from lance_ns import models as m
from lance_ns.errors import InvalidInput, NamespaceAlreadyExists, NamespaceNotEmpty, NamespaceNotFound, Unsupported
from lance_ns.hookspecs import Operations, hookimpl
from lance_ns.identifiers import Levels, display

B = TypeVar("B", bound="NamespaceRules")
Q = TypeVar("Q", bound=m.Request[Any])
R = TypeVar("R")


def operation(method: Callable[[B, Q], R]) -> Callable[[B, Q], R]:
    """A hook that runs within what `NamespaceRules.within` gives, such as one deadline for all its calls."""

    @wraps(method)
    def surrounded(self: B, request: Q) -> R:
        with self.within(request):
            return method(self, request)

    return hookimpl(surrounded)


class NamespaceRules(Operations):
    """Creating, describing and dropping namespaces, over a few native calls that a backend's class supplies."""

    def within(self, request: m.Request[Any]) -> AbstractContextManager[None]:  # noqa: ARG002
        """What surrounds an operation; nothing, unless a backend says otherwise."""
        return nullcontext()

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Make a namespace, or raise NamespaceAlreadyExists, or NamespaceNotFound when its parent is missing."""
        raise NotImplementedError

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a namespace, None when there is none."""
        raise NotImplementedError

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Put properties in the place of those that a namespace has."""
        raise NotImplementedError

    def remove_entry(self, id: Levels) -> None:
        """Remove an empty namespace."""
        raise NotImplementedError

    def is_empty(self, id: Levels) -> bool:
        """Whether a namespace holds neither namespaces nor tables of any format."""
        raise NotImplementedError

    def clear(self, id: Levels) -> None:
        """Remove the entries of all that a namespace holds, never data, to serve `drop_namespace.cascade`."""
        raise Unsupported(f"dropping {display(id)} with what it holds is not supported")

    def require_entry(self, id: Levels) -> Mapping[str, str]:
        """The properties of a namespace that must exist.

        Raises:
            NamespaceNotFound: it does not.
        """
        properties = self.find_entry(id)
        if properties is None:
            raise NamespaceNotFound(f"namespace {display(id)} not found")
        return properties

    @operation
    def create_namespace(self, request: m.CreateNamespaceRequest) -> m.CreateNamespaceResponse:
        """Create a namespace as the mode says. The catalog decides who is first: no check comes before its answer."""
        id, properties = request.id, request.properties or {}
        try:
            self.create_entry(id, properties)
        except NamespaceAlreadyExists:
            existing = self.find_entry(id)
            if request.mode is m.CreateMode.CREATE or existing is None:
                raise
            if request.mode is m.CreateMode.EXIST_OK:
                return m.CreateNamespaceResponse(properties=existing)
            if not id:
                raise InvalidInput("the root namespace cannot be replaced") from None
            if not self.is_empty(id):
                raise _not_empty(id, "Overwrite replaces empty namespaces only") from None
            self.replace_entry(id, properties)
        return m.CreateNamespaceResponse(properties=properties)

    @operation
    def describe_namespace(self, request: m.DescribeNamespaceRequest) -> m.DescribeNamespaceResponse:
        """The properties of a namespace."""
        return m.DescribeNamespaceResponse(properties=self.require_entry(request.id))

    @operation
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """Drop a namespace as mode and behavior say."""
        id = request.id
        if not id:
            raise InvalidInput("the root namespace cannot be dropped")
        try:
            properties = self.require_entry(id)
            if request.behavior is m.DropBehavior.CASCADE:
                self.clear(id)
            elif not self.is_empty(id):
                raise _not_empty(id, "behavior='cascade' drops what it holds, where it can")
            self.remove_entry(id)
        except NamespaceNotFound:  # from the beginning, or because somebody else dropped it meanwhile
            if request.mode is m.DropMode.SKIP:
                return m.DropNamespaceResponse()
            raise
        return m.DropNamespaceResponse(properties=properties)


def _not_empty(id: Levels, hint: str) -> NamespaceNotEmpty:
    return NamespaceNotEmpty(f"namespace {display(id)} is not empty", hint=hint)
