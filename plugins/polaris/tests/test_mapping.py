"""A Lance table as a generic table, and back."""

import pytest

from lance_ns.errors import Internal, InvalidInput
from lance_ns_polaris import mapping

ID = ("lake", "ml", "docs")


def generic(**fields: object) -> dict[str, object]:
    return {"table": {"name": "t", "format": "lance", "base-location": "/t", "doc": None, "properties": {}, **fields}}


def test_a_creation_marks_the_table_as_lance_and_keeps_the_given_properties():
    assert mapping.creation("t", "s3://b/t", {"owner": "ann", "table_type": "delta"}) == {
        "name": "t",
        "format": "lance",
        "base-location": "s3://b/t",
        "properties": {"owner": "ann", "table_type": "lance"},
    }


def test_a_property_doc_is_the_description_and_comes_back_as_that_property():
    asked = mapping.creation("t", "/t", {"doc": "words", "owner": "ann"})
    assert asked["doc"] == "words"
    assert asked["properties"] == {"owner": "ann", "table_type": "lance"}
    table = mapping.read({"table": asked})
    assert table.properties == {"owner": "ann", "table_type": "lance", "doc": "words"}
    assert "doc" not in table.storage_options({})


def test_an_empty_description_is_one_and_none_is_none():
    assert mapping.read(generic(doc="")).properties == {"doc": ""}
    assert mapping.read(generic()).properties == {}


@pytest.mark.parametrize(
    ("format", "is_lance"), [("lance", True), ("LANCE", True), ("Lance", True), ("delta", False), ("lance2", False)]
)
def test_the_format_says_whether_a_table_is_ours(format, is_lance):
    table = mapping.read(generic(format=format))
    assert table.is_lance is is_lance
    if is_lance:
        assert mapping.require_lance(table, ID) is table
    else:
        with pytest.raises(InvalidInput, match=r"lake\.ml\.docs is not a Lance table"):
            mapping.require_lance(table, ID)


def test_the_connections_storage_options_win_over_the_tables_properties():
    table = mapping.read(generic(properties={"region": "theirs", "flavour": "sweet"}))
    assert table.storage_options({"region": "ours"}) == {"region": "ours", "flavour": "sweet"}


@pytest.mark.parametrize("fields", [{"base-location": None}, {"properties": None}])
def test_a_table_that_somebody_made_without_a_field_can_be_read(fields):
    assert mapping.read(generic(**fields)).is_lance


@pytest.mark.parametrize("body", [None, [], {}, {"table": None}, {"table": {}}, {"table": {"format": None}}, "text"])
def test_an_answer_without_a_table_is_an_error(body):
    with pytest.raises(Internal):
        mapping.read(body)


@pytest.mark.parametrize("location", ["/lake/t", "s3://bucket/t", "file:///lake/t", "file:/lake/t", "abfss://c@a/t"])
def test_an_absolute_path_and_a_uri_are_locations(location):
    assert mapping.checked_location(location) == location


@pytest.mark.parametrize("location", ["", "t", "./t", "../t", "~/t", "s3:", "s3://"[:4], "://b/t", " /t", "1s3://b/t"])
def test_what_means_something_else_elsewhere_is_no_location(location):
    with pytest.raises(InvalidInput):
        mapping.checked_location(location)


def test_a_table_lies_below_its_namespaces_location_whether_that_ends_with_a_slash_or_not():
    for location in ("s3://b/ml", "s3://b/ml/"):
        assert mapping.location_below(location, ID) == "s3://b/ml/docs"
    assert mapping.location_below("/b/ml", ("lake", "ml", "../x")) == "/b/ml/~2E.~2Fx"


@pytest.mark.parametrize("level", ["a#b", "a?b", "a%41", "../../away", "a/b"])
def test_a_namespace_whose_name_leads_elsewhere_in_a_uri_gives_no_default_location(level):
    with pytest.raises(InvalidInput):
        mapping.location_below(f"s3://b/{level}/", ("lake", level, "docs"))
