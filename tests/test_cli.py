"""`lance-ns` as people run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lance_ns
from lance_ns.cli.app import exit_status

COMMAND = Path(sys.executable).with_name("lance-ns")


@pytest.fixture
def run(root: Path, tmp_path: Path):
    """Runs a command on the test's lake; a profile `lake` names it."""
    (tmp_path / "lance-ns.toml").write_text(
        f'[profiles.lake]\nbackend = "dir"\nroot = "{root}"\nstorage.aws_secret_access_key = "${{CANARY}}"\n'
    )

    def call(*arguments: str, profile: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        connection = ["--profile", "lake"] if profile else []
        return subprocess.run(
            [COMMAND, *arguments, *connection],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "CANARY": "canary-secret", "NO_COLOR": "1", **environment},
        )

    return call


@pytest.fixture
def lake(ns: lance_ns.Namespace, rows):
    ns.create_namespace("ml$deep")
    ns.write("ml$docs", rows)
    ns.declare_table("ml$images")
    return ns


def test_backends_lists_what_is_installed_with_versions_and_capabilities(run):
    shown = run("backends", profile=False)
    assert shown.returncode == 0
    assert "lance-ns-dir" in shown.stdout
    assert "drop_namespace.cascade" in shown.stdout
    data = json.loads(run("backends", "--json", profile=False).stdout)
    assert {"name", "distribution", "version", "summary", "capabilities", "problem"} == set(data[0])


def test_config_shows_every_property_of_a_backend(run):
    shown = run("config", "dir", profile=False).stdout
    assert "root" in shown
    assert "the current working directory" in shown
    assert "storage.*" in shown
    assert [each["name"] for each in json.loads(run("config", "dir", "--json", profile=False).stdout)] == [
        "root",
        "dir_listing_enabled",
        "storage.*",
    ]


def test_config_of_an_unknown_backend_says_what_to_install(run):
    shown = run("config", "glu", profile=False)
    assert shown.returncode == 2
    assert "pip install lance-ns-glu" in shown.stderr


def test_ls_lists_namespaces_and_tables(run, lake):
    assert run("ls").stdout == "ml/\n"
    assert run("ls", "ml").stdout == "deep/\ndocs\nimages\n"
    assert run("ls", "ml", "--with-data").stdout == "deep/\ndocs\n"
    assert json.loads(run("ls", "ml", "--json").stdout) == {"namespaces": ["deep"], "tables": ["docs", "images"]}


def test_ls_of_something_that_cannot_be_is_an_error_not_an_empty_list(run, lake):
    shown = run("ls", "a/b")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert run("ls", "nope").returncode == 3


def test_tree_draws_tables_with_their_figures(run, lake):
    shown = run("tree").stdout
    assert "└── ml\n" in shown
    assert "3 rows" in shown
    assert "declared, no data yet" in shown
    assert run("tree", "--names").stdout.splitlines() == [
        "dir",
        "└── ml",
        "    ├── deep",
        "    ├── docs",
        "    └── images",
    ]
    data = json.loads(run("tree", "ml", "--json").stdout)
    assert [table["rows"] for table in data["tables"]] == [3, None]


def test_describe_finds_tables_and_namespaces_and_hides_storage_options(run, lake):
    table = json.loads(run("describe", "ml$docs", "--json", "--detailed").stdout)
    assert (table["version"], table["stats"]["num_fragments"], table["is_only_declared"]) == (1, 1, False)
    assert "storage_options" not in table
    assert "version" in run("describe", "ml$docs", "--detailed").stdout
    assert json.loads(run("describe", "ml", "--json").stdout) == {"properties": {}}
    secret = run("describe", "ml$docs", "--json", "--show-storage-options").stdout
    assert json.loads(secret)["storage_options"] == {"aws_secret_access_key": "canary-secret"}


def test_namespaces_are_created_and_dropped(run, lake):
    assert run("create-namespace", "new", "--set", "owner=me").returncode == 0
    assert json.loads(run("describe", "new", "--json").stdout) == {"properties": {"owner": "me"}}
    assert run("create-namespace", "new").returncode == 4
    assert run("create-namespace", "new", "--mode", "exist_ok", "--json").returncode == 0
    assert run("drop-namespace", "new").returncode == 0
    assert run("drop-namespace", "new").returncode == 3
    assert run("drop-namespace", "new", "--skip-missing").returncode == 0
    assert run("drop-namespace", "ml").returncode == 4
    assert run("drop-namespace", "ml", "--cascade").returncode == 0


def test_tables_are_declared_registered_and_deregistered(run, lake, root, rows):
    import lance

    lance.write_dataset(rows, str(root / "there"))
    assert "declared table ml$new at" in run("declare", "ml$new", "--set", "a=b").stdout
    assert "registered table ml$there" in run("register", "ml$there", "there").stdout
    assert "its data stays at" in run("deregister", "ml$there").stdout
    assert run("deregister", "ml$there").returncode == 3
    assert json.loads(run("declare", "ml$json", "--json").stdout)["location"]
    assert lance.dataset(str(root / "there")).count_rows() == 3


def test_head_and_schema_show_rows_and_columns(run, lake):
    assert run("head", "ml$docs", "-n", "2").stdout.split() == ["id", "1", "2"]
    assert json.loads(run("head", "ml$docs", "--json", "--columns", "id").stdout) == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert run("head", "ml$docs", "--columns", "nope").returncode == 2
    assert run("head", "ml$docs", "--version", "9").returncode == 3
    assert run("head", "ml$images").returncode == 4
    assert run("schema", "ml$docs").stdout.splitlines()[1].split() == ["id", "int64", "yes"]
    assert json.loads(run("schema", "ml$docs", "--json").stdout)["fields"][0]["name"] == "id"


def test_an_error_is_one_readable_line_and_a_traceback_only_with_debug(run):
    shown = run("describe", "ml$nope")
    assert shown.stderr == "lance-ns: dir: table ml$nope not found (TableNotFound, 4)\n"
    assert shown.returncode == 3
    debugged = run("--debug", "describe", "ml$nope")
    assert "Traceback" in debugged.stderr
    assert "canary-secret" not in debugged.stderr


def test_a_secret_in_a_wrong_place_is_not_repeated(run):
    shown = run("ls", "-p", "canary-secret", profile=False)
    assert shown.returncode == 2
    assert "canary-secret" not in shown.stderr + shown.stdout


def test_properties_on_the_command_line_override_the_profile(run, lake, tmp_path):
    assert run("ls", "-p", f"root={tmp_path / 'other'}").stdout == ""


def test_environment_variables_name_a_profile_and_complete_it(run, lake, root):
    environment = {"LANCE_NS_PROFILE": "fromenv", "LANCE_NS_PROFILE__FROMENV__BACKEND": "dir"}
    shown = run("ls", profile=False, **environment, LANCE_NS_PROFILE__FROMENV__ROOT=str(root))
    assert shown.stdout == "ml/\n"


def test_a_name_cannot_write_on_the_terminal(run, lake):
    from lance_ns.cli.output import clean

    assert clean("a\x1b[2Jb\nc") == "a\\x1b[2Jb\\nc"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands_backends_and_profiles(run, shell):
    script = run(profile=False, _LANCE_NS_COMPLETE=f"{shell}_source")
    assert script.returncode == 0
    assert "lance-ns" in script.stdout
    if shell == "bash":
        found = run(
            profile=False, _LANCE_NS_COMPLETE="bash_complete", COMP_WORDS="lance-ns ls --profile ", COMP_CWORD="3"
        )
        assert "lake" in found.stdout


def test_every_code_has_an_exit_status_of_its_class():
    statuses = {code: exit_status(code) for code in lance_ns.ErrorCode}
    assert statuses[lance_ns.ErrorCode.INVALID_INPUT] == 2
    assert statuses[lance_ns.ErrorCode.TABLE_NOT_FOUND] == 3
    assert statuses[lance_ns.ErrorCode.CONCURRENT_MODIFICATION] == 4
    assert statuses[lance_ns.ErrorCode.UNAUTHENTICATED] == statuses[lance_ns.ErrorCode.PERMISSION_DENIED] == 5
    assert statuses[lance_ns.ErrorCode.THROTTLING] == statuses[lance_ns.ErrorCode.SERVICE_UNAVAILABLE] == 6
    assert statuses[lance_ns.ErrorCode.UNSUPPORTED] == 7
    assert statuses[lance_ns.ErrorCode.INTERNAL] == 1
    assert set(statuses.values()) == {1, 2, 3, 4, 5, 6, 7}


COMMANDS = ["backends", "config", "ls", "tree", "describe", "create-namespace", "drop-namespace", "declare", "register"]
COMMANDS += ["deregister", "head", "schema"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(run, command):
    shown = run(command, "--help", profile=False)
    assert shown.returncode == 0
    assert "--json" in shown.stdout


def test_sizes_and_counts_are_readable():
    from lance_ns.cli.output import count, size

    assert [count(number) for number in (0, 950, 12_300, 1_200_000)] == ["0", "950", "12.3 k", "1.2 M"]
    assert [size(number) for number in (0, 950, 8_100_000_000)] == ["0 B", "950 B", "8.1 GB"]
