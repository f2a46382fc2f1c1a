"""The command group: options that all commands share, errors as one line, exit status by class of error."""

import sys
from typing import Any

import click

from lance_ns import registry
from lance_ns.errors import ErrorCode, LanceNsError
from lance_ns.version import __version__

EXIT_STATUS = {
    "InvalidInput, TableSchemaValidationError, or a wrong command line": 2,
    "something is not found": 3,
    "something exists already, is not empty, or changed meanwhile": 4,
    "not authenticated, or no permission": 5,
    "the catalog is unavailable or throttles": 6,
    "the backend cannot do this": 7,
    "any other error": 1,
}
_STATUS_OF_HTTP = {400: 2, 404: 3, 409: 4, 401: 5, 403: 5, 503: 6, 429: 6, 406: 7, 500: 1}

_OWN = {
    "backends": "lance_ns.cli.backends:backends",
    "config": "lance_ns.cli.backends:config",
    "create-namespace": "lance_ns.cli.namespaces:create_namespace",
    "declare": "lance_ns.cli.tables:declare",
    "deregister": "lance_ns.cli.tables:deregister",
    "describe": "lance_ns.cli.tables:describe",
    "drop-namespace": "lance_ns.cli.namespaces:drop_namespace",
    "head": "lance_ns.cli.tables:head",
    "ls": "lance_ns.cli.namespaces:ls",
    "register": "lance_ns.cli.tables:register",
    "schema": "lance_ns.cli.tables:schema",
    "tree": "lance_ns.cli.namespaces:tree",
}


class LazyGroup(click.Group):
    """Imports a command when it is named; further ones are found in the entry-point group `lance_ns.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, those of plugins included."""
        return sorted({*_OWN, *registry.names(registry.COMMANDS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a name, imported now."""
        if cmd_name in _OWN:
            command: click.Command = registry.imported(_OWN[cmd_name])
            return command
        if cmd_name in registry.names(registry.COMMANDS):
            try:
                found: click.Command = registry.named_object(registry.COMMANDS, cmd_name)
            except LanceNsError as error:
                return _broken(cmd_name, error)
            return found
        return None


def _broken(name: str, error: LanceNsError) -> click.Command:
    """A plugin's command that cannot be loaded is listed, and says why when it is run; the others go on working."""

    def fail(**_: Any) -> None:
        raise error

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=fail, short_help="(broken)", context_settings=settings)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: "
    + "; ".join(f"{status} {what}" for what, status in sorted(EXIT_STATUS.items(), key=lambda item: item[1]))
    + ".",
)
@click.version_option(__version__, "--version", prog_name="lance-ns")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def app(debug: bool) -> None:
    """Lance tables in every catalog.

    Connections are given by --profile, or by --backend with any number of -p NAME=VALUE.
    """


def run(arguments: list[str] | None = None) -> None:
    """Run the command line; errors become one readable line and an exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        app.main(arguments, prog_name="lance-ns")
    except LanceNsError as error:
        if "--debug" in arguments:
            raise
        click.echo(f"lance-ns: {error}", err=True)
        for note in getattr(error, "__notes__", ()):
            click.echo(f"  {note}", err=True)
        sys.exit(exit_status(error.code))
    except ImportError as error:
        if "--debug" in arguments or not _names_pylance(error):
            raise
        click.echo("lance-ns: this needs pylance: pip install 'lance-ns-core[lance]'", err=True)
        sys.exit(1)


def exit_status(code: ErrorCode) -> int:
    """The exit status of an error code."""
    return _STATUS_OF_HTTP[code.http_status]


def _names_pylance(error: ImportError) -> bool:
    return error.name in ("lance", "lance_namespace", "pyarrow")
