"""What tasks read: files and fragments, found, divided and read."""

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_ns.errors import InvalidInput, TableColumnNotFound, Unsupported
from lance_ns_spark import arrow_files
from lance_ns_spark.arrow_files import LanceFragments, ParquetFiles
from lance_ns_spark.tables import Table


@pytest.fixture
def small_splits(monkeypatch):
    monkeypatch.setattr(arrow_files, "SMALLEST_SPLIT", 1)


def rows_of(source, split) -> list[int]:
    return [row for batch in source.read(split) for row in batch.column("id").to_pylist()]


def write(path, ids, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), path, **options)


def test_a_pattern_a_directory_and_a_file_find_the_same_files(tmp_path):
    for name in ("b.parquet", "a.parquet", "deep/c.parquet"):
        write(tmp_path / "raw" / name, [1])
    (tmp_path / "raw" / "_SUCCESS").touch()
    (tmp_path / "raw" / ".a.crc").touch()
    raw = str(tmp_path / "raw")

    def names(*paths):
        return [file.path.removeprefix(raw) for file in ParquetFiles.found(paths).files]

    assert names(raw) == names(f"file://{raw}/**") == ["/a.parquet", "/b.parquet", "/deep/c.parquet"]
    assert names(f"{raw}/*.parquet") == ["/a.parquet", "/b.parquet"]
    assert names(f"{raw}/**/*.parquet") == ["/a.parquet", "/b.parquet", "/deep/c.parquet"]
    assert names(f"{raw}/[!a].parquet") == names(f"file://{raw}/b.parquet") == ["/b.parquet"]
    assert names(f"{raw}/a.parquet", raw) == names(raw)


def test_every_row_group_is_in_one_split_in_order(tmp_path, small_splits):
    write(tmp_path / "a.parquet", range(10), row_group_size=2)
    write(tmp_path / "b.parquet", range(10, 13), row_group_size=2)
    source = pickle.loads(pickle.dumps(ParquetFiles.found([str(tmp_path)])))
    for tasks in (1, 2, 3, 100):
        splits = source.splits(tasks)
        assert [id for split in splits for id in rows_of(source, split)] == list(range(13))
        assert [split.rows for split in splits] == [len(rows_of(source, split)) for split in splits]
        assert len(splits) == {1: 1, 2: 2, 3: 3, 100: 7}[tasks]
        assert splits == ParquetFiles.found([str(tmp_path)]).splits(tasks)


def test_small_files_share_a_split(tmp_path):
    for number in range(20):
        write(tmp_path / f"{number:02}.parquet", [number])
    source = ParquetFiles.found([str(tmp_path)])
    assert len(source.splits(8)) == 1
    assert rows_of(source, source.splits(8)[0]) == list(range(20))


def test_directories_that_hold_values_of_columns_are_noticed_below_what_was_asked_for(tmp_path):
    write(tmp_path / "raw" / "year=2026" / "a.parquet", [1])
    assert ParquetFiles.found([str(tmp_path / "raw")]).is_partitioned
    for path in ("raw/year=2026", "raw/year=2026/a.parquet", "raw/*/a.parquet"):
        assert not ParquetFiles.found([str(tmp_path / path)]).is_partitioned


def test_the_fingerprint_changes_when_a_file_does(tmp_path):
    write(tmp_path / "a.parquet", [1])
    first = ParquetFiles.found([str(tmp_path)]).fingerprint
    assert ParquetFiles.found([str(tmp_path)]).fingerprint == first
    assert ParquetFiles.found([str(tmp_path)], columns=["id"]).fingerprint != first
    write(tmp_path / "b.parquet", [2])
    assert ParquetFiles.found([str(tmp_path)]).fingerprint != first


def test_files_with_different_columns_are_read_under_one_schema(tmp_path):
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "x": ["y"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"other": [1, 2]}), tmp_path / "c.parquet")
    source = ParquetFiles.found([str(tmp_path)], columns=["id", "x"])
    assert source.schema == pa.schema([("id", pa.int64()), ("x", pa.string())])
    assert sum(batch.num_rows for batch in source.read(source.splits(1)[0])) == source.rows == 4


def test_files_whose_types_clash_are_refused(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [[1]]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match="do not go together"):
        ParquetFiles.found([str(tmp_path)])


def test_what_is_not_there_or_not_parquet_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="there are no files at"):
        ParquetFiles.found([str(tmp_path / "nowhere" / "*.parquet")])
    (tmp_path / "a.parquet").write_text("no parquet at all")
    with pytest.raises(InvalidInput, match=r"footer of .*a\.parquet"):
        ParquetFiles.found([str(tmp_path)])
    write(tmp_path / "a.parquet", [1])
    with pytest.raises(TableColumnNotFound, match="no column 'x'"):
        ParquetFiles.found([str(tmp_path)], columns=["x"])


def test_notes_of_the_parquet_writer_do_not_come_along(tmp_path):
    table = pa.table({"id": [1]}).replace_schema_metadata({"pandas": "{}"})
    pq.write_table(table, tmp_path / "a.parquet")
    schema = ParquetFiles.found([str(tmp_path)]).schema
    assert schema.metadata is None
    assert not schema.field("id").metadata


def test_storage_options_have_the_names_that_connections_use_and_are_never_shown(tmp_path):
    options = {
        "aws_access_key_id": "AKIA",
        "aws_secret_access_key": "hush",
        "aws_endpoint": "http://localhost:9000/",
        "region": "us-east-1",
        "allow_http": "true",
    }
    filesystem, path = arrow_files.located("s3://bucket/a/*.parquet", options)
    assert path == "bucket/a/*.parquet"
    assert filesystem.region == "us-east-1"
    assert "hush" not in repr(ParquetFiles((), pa.schema([]), None, filesystem, False))
    with pytest.raises(InvalidInput, match="'colour' is not a storage option") as refused:
        arrow_files.located("s3://bucket/a", {**options, "colour": "red"})
    assert "hush" not in str(refused.value)


def test_live_rows_of_fragments_are_read_in_order(lake, small_splits):
    for start in (0, 4, 8):
        lake.write("ml$t", pa.table({"id": range(start, start + 4)}), mode="append" if start else "create")
    lake.dataset("ml$t").delete("id % 4 = 1")
    source = pickle.loads(pickle.dumps(LanceFragments.found(Table.within(lake, "ml$t"))))
    splits = source.splits(3)
    assert [rows_of(source, split) for split in splits] == [[0, 2, 3], [4, 6, 7], [8, 10, 11]]
    assert [split.rows for split in splits] == [3, 3, 3]
    assert (source.rows, source.version) == (9, 4)


def test_a_version_columns_and_a_filter_choose_what_is_read(lake):
    lake.write("ml$t", pa.table({"id": [1, 2], "x": ["a", "b"]}))
    lake.write("ml$t", pa.table({"id": [3], "x": ["c"]}), mode="append")
    table = Table.within(lake, "ml$t")
    source = LanceFragments.found(table, version=1, columns=["id"], filter="x = 'b'")
    assert source.schema.names == ["id"]
    assert rows_of(source, source.splits(1)[0]) == [2]
    assert source.fingerprint != LanceFragments.found(table, columns=["id"], filter="x = 'b'").fingerprint


def test_blobs_inside_data_files_are_read_as_bytes(lake):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    lake.write("ml$t", pa.table({"id": [1], "b": [b"xyz"]}, schema=schema), data_storage_version="2.1")
    source = LanceFragments.found(Table.within(lake, "ml$t"))
    assert next(iter(source.read(source.splits(1)[0]))).column("b").to_pylist() == [b"xyz"]


def test_blobs_beside_data_files_are_refused(lake):
    import lance

    blob = lance.blob_field("b")
    data = pa.table({"b": lance.blob_array([b"xyz"])}, schema=pa.schema([blob]))
    lake.write("ml$t", data, data_storage_version="2.2")
    with pytest.raises(Unsupported, match=r"column 'b' .* holds blobs"):
        LanceFragments.found(Table.within(lake, "ml$t"))
