"""The words of the contract."""

from enum import StrEnum
from typing import Self

from lance_ns.errors import InvalidInput


class Choice(StrEnum):
    """A word of the contract, read in any case and with or without underscores."""

    @classmethod
    def read(cls, value: "Self | str | None") -> Self:
        """The member that `value` names; None is the first one, the contract's default."""
        if isinstance(value, cls):
            return value
        if value is None:
            return next(iter(cls))
        if isinstance(value, str):
            wanted = value.replace("_", "").replace("-", "").lower()
            for member in cls:
                if member.value.lower() == wanted:
                    return member
        choices = ", ".join(member.value for member in cls)
        raise InvalidInput(f"{value!r} is not a {cls.__name__}", hint=f"choose one of {choices}")


class CreateMode(Choice):
    """What creating a namespace does when it exists."""

    CREATE = "Create"
    EXIST_OK = "ExistOk"
    OVERWRITE = "Overwrite"


class DropMode(Choice):
    """What dropping a namespace does when it is missing."""

    FAIL = "Fail"
    SKIP = "Skip"


class DropBehavior(Choice):
    """What dropping a namespace does when it is not empty."""

    RESTRICT = "Restrict"
    CASCADE = "Cascade"


class RegisterMode(Choice):
    """What registering a table does when it exists."""

    CREATE = "Create"
    OVERWRITE = "Overwrite"


def create_mode(value: CreateMode | str | None) -> CreateMode:
    """How to create, in any spelling."""
    return CreateMode.read(value)


def drop_mode(value: DropMode | str | None) -> DropMode:
    """How to drop what may be missing, in any spelling."""
    return DropMode.read(value)


def drop_behavior(value: DropBehavior | str | None) -> DropBehavior:
    """How to drop what may hold something, in any spelling."""
    return DropBehavior.read(value)


def register_mode(value: RegisterMode | str | None) -> RegisterMode:
    """How to register, in any spelling."""
    return RegisterMode.read(value)
