"""Names, roots and storages: whatever they are, tables stay inside of the root and errors are typed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import lance
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_ns
from lance_ns import Namespace

HOSTILE = [
    "sp ace", "per%20cent", "%2e%2e", "ünï", "日本語", "a#b", "a?b", "a:b", "a*b", "a&b=c", 'dou"ble', "<x>",
    "|", "~", "-dash", ".hidden", "...", "CON", "a+b", "[x]", "{y}", "a;b", "a,b", "t.lance", "__manifest", "😀",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("parent", [(), ("ml",), ("sp ace%",)])
def test_a_hostile_name_is_written_read_and_listed_as_it_is(ns: Namespace, root: Path, rows, parent, name):
    if parent:
        ns.create_namespace(parent)
    ns.write((*parent, name), rows)
    assert ns.dataset((*parent, name)).count_rows() == 3
    assert list(ns.list_tables(parent)) == [name]
    assert ns.describe_table((*parent, name), check_declared=True).is_only_declared is False
    outside = [path for path in root.parent.iterdir() if path != root]
    assert outside == []


@pytest.mark.parametrize("name", ["x/y", "../evil", "a\\b", "x$y", "/", "a/../../../evil", "quo'te"])
def test_a_name_that_pylance_would_read_otherwise_is_refused(ns: Namespace, root: Path, name: str):
    ns.create_namespace("ml")
    for call in (ns.declare_table, ns.create_namespace, ns.describe_table, ns.deregister_table):
        with pytest.raises(lance_ns.InvalidInput):
            call(["ml", name])
    assert list(ns.list_all_tables()) == []
    assert [path.name for path in root.parent.iterdir()] == [root.name]


def test_a_name_cannot_reach_the_tables_of_another_namespace(ns: Namespace):
    ns.create_namespace("secret")
    ns.declare_table("secret$t")
    with pytest.raises(lance_ns.InvalidInput):
        ns.create_namespace(["x') OR starts_with(object_id, 'secret"])
    with pytest.raises(lance_ns.InvalidInput):
        list(ns.list_tables(["x') OR starts_with(object_id, 'secret"]))


@pytest.mark.parametrize("name", ["x" * 300, "x" * 250, "日" * 40])
def test_a_name_too_long_for_a_file_is_refused_before_anything_is_written(ns: Namespace, name: str):
    with pytest.raises(lance_ns.InvalidInput, match=r"long|characters"):
        ns.declare_table(name)
    assert list(ns.list_tables()) == []


@given(name=st.text(min_size=1, max_size=30))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_name_is_kept_exactly_or_refused(tmp_path_factory, name: str):
    root = tmp_path_factory.mktemp("lake")
    with lance_ns.connect("dir", root=root) as ns:
        try:
            ns.declare_table([name])
        except lance_ns.InvalidInput:
            assert list(ns.list_tables()) == []
        else:
            assert list(ns.list_tables()) == [name]
            location = ns.describe_table([name]).location
            assert location.startswith(f"file://{root}/")


def test_datasets_that_lie_in_the_root_are_tables(ns: Namespace, root: Path, rows):
    lance.write_dataset(rows, str(root / "found.lance"))
    ns.declare_table("declared")
    assert list(ns.list_tables()) == ["declared", "found"]
    assert ns.dataset("found").count_rows() == 3
    with pytest.raises(lance_ns.TableAlreadyExists):
        ns.declare_table("found")
    answer = ns.deregister_table("found")
    assert list(ns.list_tables()) == ["declared"]
    assert lance.dataset(answer.location).count_rows() == 3


def test_datasets_that_lie_in_the_root_can_be_left_alone(root: Path, rows):
    lance.write_dataset(rows, str(root / "found.lance"))
    with lance_ns.connect("dir", root=root, dir_listing_enabled="false") as ns:
        assert list(ns.list_tables()) == []


def test_the_default_root_is_the_working_directory(monkeypatch, tmp_path, rows):
    monkeypatch.chdir(tmp_path)
    with lance_ns.connect() as ns:
        ns.write("t", rows)
    with lance_ns.connect("dir", root=".") as again:
        monkeypatch.chdir("/")
        assert again.dataset("t").count_rows() == 3


def test_a_root_that_does_not_exist_yet_is_made_by_the_first_write(tmp_path, rows):
    with lance_ns.connect("dir", root=tmp_path / "deep" / "er") as ns:
        assert list(ns.list_all_tables()) == []
        ns.write("t", rows)
        assert list(ns.list_tables()) == ["t"]


def test_a_root_that_vanishes_is_unavailable_not_empty(ns: Namespace, root: Path, rows):
    import shutil

    ns.create_namespace("ml")
    ns.write("ml$t", rows)
    shutil.rmtree(root)
    for call in (
        lambda: list(ns.list_tables("ml")),
        lambda: ns.describe_table("ml$t"),
        lambda: ns.declare_table("ml$u"),
        lambda: ns.create_namespace("other"),
    ):
        with pytest.raises(lance_ns.ServiceUnavailable, match="vanished"):
            call()


def test_a_root_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("no directory")
    with (
        lance_ns.connect("dir", root=tmp_path / "file") as ns,
        pytest.raises(lance_ns.InvalidInput, match="no directory"),
    ):
        ns.create_namespace("ml")


@pytest.mark.parametrize("root", ["memory://x", "bogus://x"])
def test_a_root_of_an_unknown_or_fleeting_kind_is_refused(root: str):
    with pytest.raises(lance_ns.InvalidInput):
        lance_ns.connect("dir", root=root).create_namespace("x")


def test_a_read_only_root_is_permission_denied_and_loses_nothing(rows):
    with tempfile.TemporaryDirectory() as directory:  # not pytest's own, which no other user may enter
        root = Path(directory, "lake")
        with lance_ns.connect("dir", root=root) as ns:
            ns.create_namespace("ml")
            ns.write("ml$t", rows)
        script = f"""
import os, tempfile
import lance_ns
with tempfile.TemporaryDirectory() as other, lance_ns.connect("dir", root=other) as ns:
    # Another user may not be able to import anything: everything is imported before.
    ns.write("t", [{{"id": 1}}])
    try:
        ns.dataset("nope")
    except lance_ns.TableNotFound:
        pass
os.setuid(65534) if os.getuid() == 0 else None
with lance_ns.connect("dir", root={str(root)!r}) as ns:
    try:
        ns.create_namespace("other")
    except lance_ns.PermissionDenied as error:
        print("denied", error)
    print(ns.dataset("ml$t").count_rows())
"""
        subprocess.run(["chmod", "-R", "a+rX,a-w", directory], check=True)
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd="/")
        subprocess.run(["chmod", "-R", "u+w", directory], check=True)
    assert "denied dir: no permission" in result.stdout, result.stderr
    assert result.stdout.endswith("3\n")


def test_an_object_store_that_cannot_be_reached_is_unavailable():
    storage = {
        "storage.aws_endpoint": "http://127.0.0.1:9",
        "storage.allow_http": True,
        "storage.aws_access_key_id": "key",
        "storage.aws_secret_access_key": "secret",
        "storage.aws_region": "us-east-1",
        "storage.client_max_retries": 0,
    }
    with lance_ns.connect("dir", storage, root="s3://bucket/lake") as ns, pytest.raises(lance_ns.ServiceUnavailable):
        ns.create_namespace("ml")


def test_a_failing_object_store_shows_no_key_in_error_or_traceback(caplog):
    import traceback

    storage = {
        "storage.aws_endpoint": "http://127.0.0.1:9",
        "storage.allow_http": "true",
        "storage.aws_access_key_id": "canary-id",
        "storage.aws_secret_access_key": "canary-secret",
        "storage.aws_session_token": "canary-session",
        "storage.aws_region": "us-east-1",
        "storage.client_max_retries": "0",
    }
    caplog.set_level("DEBUG")
    with lance_ns.connect("dir", storage, root="s3://bucket/lake") as ns:
        for call in (
            lambda: list(ns.list_tables()),
            lambda: ns.create_namespace("x"),
            lambda: ns.write("t", [{"a": 1}]),
        ):
            with pytest.raises(lance_ns.LanceNsError) as caught:
                call()
            made = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
            frames = [frame for frame in made.stack if "tests" not in frame.filename]
            shown = [str(frame.locals) for frame in frames] + [
                str(caught.value),
                repr(caught.value),
                repr(ns),
                caplog.text,
            ]
            assert "canary" not in "".join(shown)


def test_tables_live_in_an_object_store(s3, rows):
    with lance_ns.connect("dir", s3, root="s3://lake/deep") as ns:
        ns.create_namespace("ml", properties={"a": "b"})
        ns.write("ml$t", rows)
        ns.write("ml$t", rows, mode="append")
        assert ns.dataset("ml$t").count_rows() == 6
        assert list(ns.list_all_tables()) == [("ml", "t")]
        assert ns.describe_table("ml$t", check_declared=True).is_only_declared is False
        assert ns.describe_table("ml$t").location.startswith("s3://lake/deep/")
        ns.drop_table("ml$t", delete_data=True)
        assert not ns.table_exists("ml$t")


def test_wrong_keys_of_an_object_store_are_unauthenticated_or_denied(tmp_path):
    from lance_ns.lance.errors import translated

    for text, kind in (
        ("Generic S3 error: InvalidAccessKeyId", lance_ns.Unauthenticated),
        ("Generic S3 error: 403 Forbidden: AccessDenied", lance_ns.PermissionDenied),
        ("Generic S3 error: SlowDown", lance_ns.Throttling),
    ):
        assert isinstance(translated(OSError(text), "opening"), kind)
