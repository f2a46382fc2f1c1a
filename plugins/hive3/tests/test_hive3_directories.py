"""The directories of tables that lie in files are made by us, so that the metastore deletes none of them."""

from pathlib import Path

import pytest

from lance_ns_hive3 import directories


@pytest.mark.parametrize("form", ["{}", "{}/", "file:{}", "file://{}"])
def test_a_directory_is_made_with_all_above_it_and_removed_again(tmp_path: Path, form: str):
    path = tmp_path / "lake" / "db" / "t"
    new = directories.made(form.format(path))
    assert new == [str(path), str(path.parent), str(path.parent.parent)]
    assert path.is_dir()
    directories.removed(new)
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_there_is_left_alone(tmp_path: Path):
    assert directories.made(str(tmp_path)) == []
    assert tmp_path.is_dir()


def test_what_somebody_has_put_something_into_stays(tmp_path: Path):
    new = directories.made(str(tmp_path / "lake" / "t"))
    (tmp_path / "lake" / "other").mkdir()
    directories.removed(new)
    assert [each.name for each in tmp_path.rglob("*")] == ["lake", "other"]


@pytest.mark.parametrize("location", ["s3://bucket/t", "s3a://bucket/t", "hdfs:/t", "file://host/t", "t", "", "/a%20b"])
def test_other_places_are_not_ours_to_make(location: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert directories.made(location) is None
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_made_the_metastore_may_try(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert directories.made(str(tmp_path / "file" / "t")) is None
    assert directories.made(f"{tmp_path}/nul\0") is None
