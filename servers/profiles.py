"""Connection properties as a file of profiles for lance-ns."""

import json
from collections.abc import Iterable, Mapping

from servers.kinds.base import Machine, Profile, Server


def collect(machine: Machine, servers: Iterable[Server]) -> dict[str, Profile]:
    """The profiles of the servers that are up; those on the object store only while it is up too."""
    profiles: dict[str, Profile] = {}
    store_is_up = machine.server_state("s3").process() is not None
    for server in servers:
        state = machine.server_state(server.name)
        facts = state.facts()
        if facts is not None and (facts.external or state.process() is not None):
            offered = server.profiles(machine, facts).items()
            profiles.update({name: each for name, each in offered if store_is_up or not _on_store(each)})
    return profiles


def _on_store(profile: Profile) -> bool:
    return str(profile.get("root", "")).startswith("s3://")


def to_toml(profiles: Mapping[str, Profile]) -> str:
    """The profiles as TOML; a JSON text is a TOML one for strings, numbers and booleans."""
    parts = []
    for name, properties in profiles.items():
        lines = [
            f"{key if key.replace('_', '').isalnum() else json.dumps(key)} = {json.dumps(value)}"
            for key, value in properties.items()
        ]
        parts.append("\n".join([f"[profiles.{name if _bare(name) else json.dumps(name)}]", *lines]))
    return "\n\n".join(parts) + ("\n" if parts else "")


def _bare(name: str) -> bool:
    return all(character.isascii() and (character.isalnum() or character in "-_") for character in name)
