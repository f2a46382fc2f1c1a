"""Tables as jobs name them."""

import pickle

import pyarrow as pa
import pytest

import lance_ns
from lance_ns_spark.tables import Table, dataset_at


def test_a_table_is_reached_again_from_its_pickle(lake: lance_ns.Namespace):
    lake.write("ml$docs", pa.table({"id": [1]}))
    table = pickle.loads(pickle.dumps(Table.within(lake, "ml$docs")))
    assert table.dataset().count_rows() == 1


def test_a_table_is_called_by_its_profile_or_else_its_backend(tmp_path, monkeypatch):
    monkeypatch.setenv("LANCE_NS_PROFILE__PROD__BACKEND", "dir")
    monkeypatch.setenv("LANCE_NS_PROFILE__PROD__ROOT", str(tmp_path))
    assert str(Table.of("ml$docs", profile="prod")) == "prod:ml$docs"
    assert str(Table.of("ml$docs", backend="dir", properties={"root": str(tmp_path)})) == "dir:ml$docs"


def test_nothing_secret_is_shown_of_a_table(tmp_path):
    table = Table.of("t", backend="dir", properties={"root": str(tmp_path), "storage.aws_secret_access_key": "hush"})
    assert "hush" not in repr(table)
    assert "hush" not in str(table)


def test_a_table_without_data_has_none_and_says_so(lake: lance_ns.Namespace):
    lake.declare_table("ml$empty")
    assert Table.within(lake, "ml$empty").existing() is None
    assert Table.within(lake, "ml$nope").existing() is None
    with pytest.raises(lance_ns.InvalidTableState):
        Table.within(lake, "ml$empty").dataset()


def test_a_version_is_opened_once_for_all_tasks_of_a_process(lake: lance_ns.Namespace):
    lake.write("ml$docs", pa.table({"id": [1]}))
    lake.write("ml$docs", pa.table({"id": [2]}), mode="append")
    sent = [pickle.loads(pickle.dumps(Table.within(lake, "ml$docs"))) for _ in range(2)]

    assert dataset_at(sent[0], 2) is dataset_at(sent[1], 2)
    assert dataset_at(sent[0], 1).count_rows() == 1
    assert dataset_at(sent[0], 2).count_rows() == 2
