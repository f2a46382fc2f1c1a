"""Finding backends: by entry-point name, one at a time, so that a broken plugin disturbs nobody else."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pluggy

from lance_ns.errors import Internal, InvalidInput, LanceNsError, Unsupported
from lance_ns.hookspecs import HOOKSPEC_VERSION, PROJECT, Backend, Registration

BACKENDS = "lance_ns"
MIDDLEWARE = "lance_ns.middleware"
COMMANDS = "lance_ns.commands"

_loaded: dict[str, Backend] = {}


class Entry(NamedTuple):
    """An entry point, and the distribution that has it."""

    name: str
    reference: str
    distribution: str
    version: str = "?"


class Installed(NamedTuple):
    """An entry point of the backends' group: the backend that it gives, or why it gives none."""

    name: str
    distribution: str
    version: str
    backend: Backend | None
    problem: LanceNsError | None


def find(name: str) -> Backend:
    """The backend that is installed under a name.

    The name `x` belongs to the distribution `lance-ns-x`, which is looked for first; a name that several other
    distributions claim is refused.

    Raises:
        InvalidInput: no such backend is installed, or several are.
        Internal: its plugin cannot be imported, or is not what a plugin must be.
        Unsupported: its plugin was written for another version of the hooks.
    """
    if not isinstance(name, str):
        raise InvalidInput(f"a backend is named by a string, not by {type(name).__name__}")
    if name not in _loaded:
        _loaded[name] = _load(_entry_point(name))
    return _loaded[name]


def installed() -> Iterator[Installed]:
    """Every backend that is installed, the broken ones with the reason, by name."""
    entries = sorted(_entry_points(BACKENDS), key=lambda entry: (entry.name, entry.distribution))
    for entry in entries:
        rivals = [other for other in entries if other.name == entry.name and other.distribution != entry.distribution]
        backend, problem = None, None
        try:
            if rivals and not _owns(entry):
                raise _contested(entry.name, [entry, *rivals])
            backend = _load(entry)
        except LanceNsError as error:
            problem = error
        yield Installed(
            name=entry.name,
            distribution=entry.distribution,
            version=entry.version,
            backend=backend,
            problem=problem,
        )


def named_object(group: str, name: str) -> Any:
    """What the entry point `name` of a group refers to.

    Raises:
        InvalidInput: there is none, or several.
    """
    found = [entry for entry in _entry_points(group) if entry.name == name]
    if len(found) != 1:
        known = sorted({entry.name for entry in _entry_points(group)})
        raise InvalidInput(
            f"{'several distributions give' if found else 'nothing installed gives'} {name!r} in the group {group!r}",
            hint=f"installed: {', '.join(known) or 'none'}",
        )
    return _import(found[0])


def names(group: str) -> list[str]:
    """The names of all entry points of a group; nothing is imported."""
    return sorted({entry.name for entry in _entry_points(group)})


def part(backend: Backend, reference: Any) -> Any:
    """A part of a backend: a `"module:attribute"` reference resolved, anything else as it is.

    Raises:
        Internal: it cannot be imported.
    """
    try:
        return imported(reference)
    except Exception as error:
        raise Internal(
            f"{reference} cannot be imported: {type(error).__name__}: {error}",
            backend=backend.name,
            hint="repair or upgrade its distribution",
        ) from error


def imported(reference: Any) -> Any:
    """A `"module:attribute"` reference resolved; anything else as it is."""
    if not isinstance(reference, str):
        return reference
    from importlib import import_module

    module, _, attributes = reference.partition(":")
    found: Any = import_module(module)
    for attribute in filter(None, attributes.split(".")):
        found = getattr(found, attribute)
    return found


def _entry_points(group: str) -> list[Entry]:
    from importlib.metadata import entry_points

    return [
        Entry(
            each.name,
            f"{each.module}:{each.attr}" if each.attr else each.module,
            each.dist.name if each.dist else "?",
            each.dist.version if each.dist else "?",
        )
        for each in entry_points(group=group)
    ]


def _entry_point(name: str) -> Entry:
    return _owners_entry_point(name) or _others_entry_point(name)


def _owners_entry_point(name: str) -> Entry | None:
    """The entry point in the distribution of its name, read from the one file that has it.

    `importlib.metadata` would find it too, but importing it costs more than everything else that connecting does.
    What does not lie unpacked on the path is left to it.
    """
    distribution = _normal(f"lance-ns-{name}")
    for folder in sys.path:
        try:
            found = next((each for each in Path(folder).iterdir() if _is_metadata_of(distribution, each.name)), None)
            if found is not None:
                reference = _reference((found / "entry_points.txt").read_text(encoding="utf-8"), name)
                return Entry(name, reference, distribution) if reference else None
        except OSError:
            continue
    return None


def _is_metadata_of(distribution: str, folder: str) -> bool:
    return folder.endswith(".dist-info") and _normal(folder.partition("-")[0]) == distribution


def _reference(content: str, name: str) -> str | None:
    """What a name of the backends' group refers to."""
    group = ""
    for line in map(str.strip, content.splitlines()):
        key, _, value = line.partition("=")
        if line.startswith("["):
            group = line
        elif group == f"[{BACKENDS}]" and key.strip() == name:
            return value.partition("[")[0].strip()  # extras, which a distribution may name there, mean nothing here
    return None


def _others_entry_point(name: str) -> Entry:
    found = {entry.distribution: entry for entry in _entry_points(BACKENDS) if entry.name == name}
    own = next((entry for entry in found.values() if _owns(entry)), None)
    if own is not None:
        return own
    if len(found) > 1:
        raise _contested(name, list(found.values()))
    if not found:
        known = names(BACKENDS)
        raise InvalidInput(
            f"backend {name!r} is not installed",
            hint=f"`pip install lance-ns-{name}`, if that is its distribution; installed: {', '.join(known) or 'none'}",
        )
    return next(iter(found.values()))


def _contested(name: str, entries: list[Entry]) -> InvalidInput:
    claimants = " and ".join(sorted({entry.distribution for entry in entries}))
    return InvalidInput(f"backend {name!r} is claimed by {claimants}", backend=name, hint="uninstall all but one")


def _owns(entry: Entry) -> bool:
    return _normal(entry.distribution) == _normal(f"lance-ns-{entry.name}")


def _normal(name: str) -> str:
    """Distributions are the same however their names are spelt."""
    return name.replace("_", "-").replace(".", "-").lower()


def _load(entry: Entry) -> Backend:
    backend = _registered(_import(entry), entry)
    if backend.hookspec != HOOKSPEC_VERSION:
        newer = backend.hookspec > HOOKSPEC_VERSION
        raise Unsupported(
            f"{entry.distribution} was written for hookspec {backend.hookspec}, this core has {HOOKSPEC_VERSION}",
            backend=entry.name,
            hint=f"upgrade {'lance-ns-core' if newer else entry.distribution}",
        )
    return backend


def _import(entry: Entry) -> Any:
    try:
        return imported(entry.reference)
    except (Exception, SystemExit) as error:  # whatever a foreign module does on import is its problem alone
        raise _broken(entry, f"cannot be imported: {type(error).__name__}: {error}") from error


def _registered(plugin: Any, entry: Entry) -> Backend:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Registration)
    try:
        manager.register(plugin)
        backend = manager.hook.lance_ns_backend()
    except Exception as error:
        raise _broken(entry, f"fails to register: {type(error).__name__}: {error}") from error
    if not isinstance(backend, Backend):
        raise _broken(
            entry,
            f"registers {type(backend).__name__}, not a Backend: does it have `@hookimpl def lance_ns_backend()`?",
        )
    if not isinstance(backend.hookspec, int):
        raise _broken(entry, f"states {backend.hookspec!r} as its hookspec, which is a number")
    if backend.name != entry.name:
        raise _broken(entry, f"registers the name {backend.name!r} under the entry point {entry.name!r}")
    return backend


def _broken(entry: Entry, why: str) -> Internal:
    return Internal(f"{entry.distribution} {why}", backend=entry.name, hint=f"repair or upgrade {entry.distribution}")
