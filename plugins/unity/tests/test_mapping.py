"""Tables and schemas as the server tells of them."""

import pytest

from lance_ns.errors import Internal, InvalidInput
from lance_ns_unity import mapping

ID = ("main", "s", "t")
TABLE = {
    "name": "t",
    "table_type": "EXTERNAL",
    "data_source_format": "TEXT",
    "storage_location": "file:///lake/t",
    "properties": {"table_type": "lance", "owner": "ann"},
}


@pytest.mark.parametrize("spelling", ["lance", "LANCE", "Lance"])
def test_the_mark_of_a_lance_table_is_read_in_any_case(spelling):
    assert mapping.is_lance({**TABLE, "properties": {"table_type": spelling}})


@pytest.mark.parametrize(
    "difference",
    [
        {"properties": {"table_type": "delta"}},
        {"properties": {}},
        {"properties": None},
        {"table_type": "MANAGED"},
        {"table_type": "VIEW"},
        {"table_type": None},
    ],
)
def test_what_is_not_external_and_marked_is_no_lance_table(difference):
    assert not mapping.is_lance({**TABLE, **difference})
    with pytest.raises(InvalidInput, match=r"main\$s\$t is not a Lance table"):
        mapping.lance_table({**TABLE, **difference}, ID)


@pytest.mark.parametrize("body", [None, [], "t", {}, {"name": None}, {"tables": []}])
def test_an_answer_without_a_table_is_an_error(body):
    with pytest.raises(Internal):
        mapping.lance_table(body, ID)


def test_a_lance_table_without_a_location_is_an_error():
    with pytest.raises(Internal, match="no location"):
        mapping.lance_table({**TABLE, "storage_location": None}, ID)


def test_a_page_without_its_list_is_told_from_an_empty_one():
    assert mapping.listed({}, "tables") is None
    assert mapping.listed({"tables": [], "next_page_token": None}, "tables") == []


@pytest.mark.parametrize("body", [None, [], "x", {"tables": {}}, {"tables": ["t"]}, {"tables": [{}]}])
def test_what_is_no_page_is_an_error_and_never_an_empty_page(body):
    with pytest.raises(Internal):
        mapping.listed(body, "tables")


@pytest.mark.parametrize(
    "answered", ["file:///lake/t", "file:/lake/t", "file:///lake/t/", "file:///lake/x/../t", "file:////lake/t"]
)
def test_a_table_is_as_asked_however_the_server_writes_its_location(answered):
    asked = mapping.creation(ID, "file:///lake/t", {"owner": "ann"}, [])
    assert mapping.is_as_asked({**TABLE, "storage_location": answered}, asked)


@pytest.mark.parametrize(
    "difference",
    [
        {"storage_location": "file:///lake/other"},
        {"storage_location": "s3://lake/t"},
        {"properties": {"table_type": "lance"}},
        {"table_type": "MANAGED"},
    ],
)
def test_a_table_of_somebody_else_is_not_as_asked(difference):
    asked = mapping.creation(ID, "file:///lake/t", {"owner": "ann"}, [])
    assert not mapping.is_as_asked({**TABLE, **difference}, asked)


def test_the_mark_cannot_be_taken_away_by_a_property_that_is_given():
    assert mapping.creation(ID, "file:///x", {"table_type": "delta"}, [])["properties"] == {"table_type": "lance"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("/lake/t", "file:///lake/t"),
        ("/a b/ü%41#?", "file:///a%20b/%C3%BC%2541%23%3F"),
        ("file:///a%20b", "file:///a%20b"),
        ("file:/lake", "file:/lake"),
        ("s3://bucket/t", "s3://bucket/t"),
        ("abfss://c@a.dfs.core.windows.net/t", "abfss://c@a.dfs.core.windows.net/t"),
    ],
)
def test_a_location_is_sent_as_a_uri(given, sent):
    assert mapping.located(given) == sent


def test_a_relative_location_is_the_clients(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mapping.located("below/t") == (tmp_path / "below" / "t").as_uri()
