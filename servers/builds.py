"""Commands built from source by Go and by Cargo, each once, into the cache."""

import json
import shutil
from pathlib import Path

from servers import tools
from servers.cache import Cache, key_of, sha256_of
from servers.errors import FetchFailed
from servers.report import say
from servers.versions import Crate, GoModule


def go_command(cache: Cache, server: str, module: GoModule, mib: int) -> Path:
    """The path of a command from a Go module, built where it is not in the cache."""
    name = module.command.rpartition("/")[2]

    def fetch(directory: Path) -> None:
        go = tools.require(server, "go")
        log = cache.directory / f"{server}.fetch.log"
        # The module must be checked, and a user's own build flags must not change what is built.
        environment = {"GOBIN": str(directory / "bin"), "GOFLAGS": "", "CGO_ENABLED": "0"}
        tools.run(
            f"{server}: fetching {name} {module.version} with Go",
            [go, "mod", "download", "-json", f"{module.module}@{module.version}"],
            directory,
            log,
            environment=environment,
        )
        found = json.loads(_json_part(log.read_text(encoding="utf-8"))).get("Sum")
        if found != module.sum:
            message = (
                f"{module.module} {module.version} has the sum {found}, and {module.sum} is pinned: it is not used."
            )
            raise FetchFailed(message)
        tools.run(
            f"{server}: building {name} {module.version} (some minutes, once)",
            [go, "install", f"{module.command}@{module.version}"],
            directory,
            log,
            environment=environment,
        )

    return cache.obtain(key_of(f"{name}-{module.version}", repr(module)), fetch, mib=mib) / "bin" / name


def _json_part(output: str) -> str:
    """Go writes progress lines before its JSON when both streams go to one file."""
    return output[output.index("{") : output.rindex("}") + 1] if "{" in output else "{}"


def go_command_is_cached(cache: Cache, module: GoModule) -> bool:
    """Whether the command was built before, so that Go itself is not needed."""
    name = module.command.rpartition("/")[2]
    return (cache.directory / key_of(f"{name}-{module.version}", repr(module))).exists()


def cargo_command(cache: Cache, server: str, crate: Crate, mib: int) -> Path:
    """The path of a command from a crate, built where it is not in the cache."""

    def fetch(directory: Path) -> None:
        cargo = tools.require(server, "cargo")
        say(f"{server}: Cargo builds {crate.name} {crate.version} (ten minutes or more, once)")
        target = directory / "target"
        tools.run(
            f"{server}: building {crate.name} {crate.version}",
            [
                cargo,
                "install",
                "--locked",
                "--no-track",
                "--version",
                f"={crate.version}",
                "--features",
                crate.features,
                "--root",
                str(directory),
                "--target-dir",
                str(target),
                crate.name,
            ],
            directory,
            cache.directory / f"{server}.fetch.log",
            # Unoptimised: the build takes a third of the time, and the server answers in milliseconds all the same.
            environment={"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_DEBUG": "0"},
            limit=3600.0,
        )
        shutil.rmtree(target)
        _check_crate(crate)

    return cache.obtain(_crate_key(crate), fetch, mib=mib) / "bin" / crate.command


def _crate_key(crate: Crate) -> str:
    return key_of(f"{crate.command}-{crate.version}", repr(crate))


def _check_crate(crate: Crate) -> None:
    """Compare the crate that Cargo used with the pinned checksum (Cargo itself compares it with its index)."""
    registry = Path.home() / ".cargo" / "registry" / "cache"
    for file in registry.glob(f"*/{crate.name}-{crate.version}.crate"):
        if sha256_of(file) != crate.sha256:
            message = f"{file.name} has another checksum than the pinned {crate.sha256}: it is not used."
            raise FetchFailed(message)


def cargo_command_is_cached(cache: Cache, crate: Crate) -> bool:
    """Whether the command was built before, so that Cargo itself is not needed."""
    return (cache.directory / _crate_key(crate)).exists()


def has(tool: str) -> bool:
    """Whether a tool is on the PATH."""
    return shutil.which(tool) is not None
