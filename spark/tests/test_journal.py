"""What a run that died has done is found by the next one, if it is still there and still of use."""

import pytest

from lance_ns_spark import journal
from lance_ns_spark.arrow_files import Split
from lance_ns_spark.commits import Written
from lance_ns_spark.journal import Moved

SPLITS = [Split((("a.parquet", (0, 1)),), 4, 40), Split(((7, ()), (8, ())), 2, 20)]
MOVED = Moved(Written(('{"id": 0}',), 4, 44), "abc")


def opened(directory, key="k", splits=SPLITS, there=True):
    return journal.opened(directory, key, lambda: splits, lambda written: [there for _ in written])


def leave(directory, **options):
    """A run that notes one split and dies."""
    with opened(directory, **options) as notes:
        assert notes.note(1, MOVED)


def test_the_next_run_takes_over_what_is_done(tmp_path):
    leave(tmp_path / "j")
    with opened(tmp_path / "j", splits=[]) as notes:
        assert notes.splits == SPLITS
        assert notes.done == {1: MOVED}
        assert not notes.note(1, MOVED)
        assert notes.note(0, MOVED)
    with opened(tmp_path / "j") as notes:
        assert notes.done == {0: MOVED, 1: MOVED}


def test_what_is_not_there_any_more_is_not_taken_over(tmp_path):
    leave(tmp_path / "j")
    with opened(tmp_path / "j", there=False) as notes:
        assert notes.done == {}
    with opened(tmp_path / "j") as notes:
        assert notes.done == {}


def test_a_journal_about_something_else_is_of_no_use(tmp_path):
    leave(tmp_path / "j")
    with opened(tmp_path / "j", key="other", splits=SPLITS[:1]) as notes:
        assert notes.splits == SPLITS[:1]
        assert notes.done == {}


@pytest.mark.parametrize("broken", ['[0, {"written": ', "", "[]x"])
def test_a_line_that_was_not_finished_does_not_count(tmp_path, broken):
    leave(tmp_path / "j")
    with (tmp_path / "j" / "done.jsonl").open("a") as file:
        file.write(broken)
    with opened(tmp_path / "j") as notes:
        assert notes.done == {1: MOVED}
        notes.note(0, MOVED)
    with opened(tmp_path / "j") as notes:
        assert notes.done == {1: MOVED, 0: MOVED}


def test_while_a_run_has_it_another_keeps_none(tmp_path):
    with opened(tmp_path / "j") as first, opened(tmp_path / "j") as second:
        assert first.is_kept
        assert not second.is_kept
        second.note(0, MOVED)
        assert first.done == {}
        second.forget()
    with opened(tmp_path / "j") as notes:
        assert notes.is_kept
        assert notes.done == {}


def test_nothing_remains_of_a_job_that_is_over(tmp_path):
    with opened(tmp_path / "j") as notes:
        notes.note(1, MOVED)
        notes.forget()
    leave(tmp_path / "k")
    journal.forget(tmp_path / "k")
    journal.forget(tmp_path / "never")
    assert list(tmp_path.iterdir()) == []


def test_without_a_directory_nothing_is_kept(tmp_path):
    with opened(None) as notes:
        notes.note(1, MOVED)
        assert notes.done == {1: MOVED}
        notes.forget()


def test_each_job_has_a_directory_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = journal.directory_of("nightly/docs:1"), journal.directory_of("nightly/docs:2")
    assert one != other
    assert one.parent == tmp_path / "lance-ns" / "jobs"
    assert journal.directory_of("x", tmp_path / "state").parent == tmp_path / "state"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert journal.directory_of("x").parent == tmp_path / ".cache" / "lance-ns" / "jobs"
