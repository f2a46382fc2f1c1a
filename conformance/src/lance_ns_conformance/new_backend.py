"""`lance-ns new-backend`: write a complete backend that passes, to be changed into one's own.

The template is a backend of the kit itself, `acme` over an SQLite file, so it is linted, typed and tested in its place.
"""

import re
from importlib.resources import files
from pathlib import Path

import click

from lance_ns.errors import InvalidInput
from lance_ns.registry import BACKENDS, names
from lance_ns.version import __version__

MAX_LENGTH = 30
OURS = frozenset({"core", "conformance", "spark", "dir", "unity", "polaris", "iceberg", "hive3", "glue"})
"""Names whose distributions, `lance-ns-NAME`, are this project's own."""

_MODULE = "src/lance_ns_acme"
_PLACES = {
    "project.toml": "pyproject.toml",
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "workflow.yml": ".github/workflows/test.yml",
    "__init__.py": f"{_MODULE}/__init__.py",
    "backend.py": f"{_MODULE}/backend.py",
    "config.py": f"{_MODULE}/config.py",
    "conformance.py": f"{_MODULE}/conformance.py",
    "store.py": f"{_MODULE}/store.py",
    "test_acme.py": "tests/test_acme.py",
}
"""The files of the template, and where each goes."""


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The directory in which lance-ns-NAME is made; without it the current one.",
)
def new_backend(name: str, into: Path) -> None:
    """Write a complete backend called NAME: package, tests, CI, and a store to replace by your catalog."""
    target = written(name, into)
    click.echo(f"wrote {target}: a backend that passes, over an SQLite file; next:")
    click.echo(f"  cd {target}")
    click.echo("  pip install -e '.[test,lint]'")
    click.echo("  pytest")
    click.echo(f"  lance-ns certify {name}")


def written(name: str, into: Path) -> Path:
    """Write the backend, and give its directory.

    Raises:
        InvalidInput: the name cannot be one, the directory exists, or it cannot be written.
    """
    _check(name)
    target = into / f"lance-ns-{name}"
    folder = files("lance_ns_conformance").joinpath("template")
    contents = {place: folder.joinpath(source).read_text(encoding="utf-8") for source, place in _PLACES.items()}
    try:
        target.mkdir(parents=True)
        for place, text in contents.items():
            path = target / _filled(place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(text, name), encoding="utf-8")
        (target / _filled(_MODULE, name) / "py.typed").touch()
    except FileExistsError as error:
        hint = "choose another name, or another directory by --into"
        raise InvalidInput(f"{target} exists already", hint=hint) from error
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}") from error
    return target


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").lstrip("0123456789_")
        raise InvalidInput(
            f"{name!r} cannot name a backend: lower-case letters, digits and single underscores can",
            hint=f"try {near!r}" if near else None,
        )
    if len(name) > MAX_LENGTH:
        raise InvalidInput(f"{name!r} is too long for a backend's name, {MAX_LENGTH} characters are allowed")
    if name in OURS or name in names(BACKENDS):
        raise InvalidInput(f"there is a backend or distribution called {name!r} already", hint="choose another name")


def _filled(text: str, name: str) -> str:
    """A text of the template with the new names in it."""
    major, minor, *_ = __version__.split(".")
    title = "".join(word.capitalize() for word in name.split("_"))
    new = {
        "lance_ns_conformance.template": f"lance_ns_{name}",
        "acme": name,
        "Acme": title,
        "@series@": f">={major}.{minor},<{major}.{int(minor) + 1}",
    }
    return re.sub("|".join(map(re.escape, new)), lambda found: new[found[0]], text)
