"""A Lance table as a table of Glue, a namespace as a database."""

import pytest
from botocore.session import Session

from lance_ns.errors import InvalidInput
from lance_ns_glue import mapping

LANCE = {
    "TableType": "EXTERNAL_TABLE",
    "StorageDescriptor": {"Location": "s3://lake/t"},
    "Parameters": {"table_type": "lance"},
}


@pytest.fixture(scope="module")
def model():
    return Session().get_service_model("glue")


def test_an_update_gives_back_every_field_that_glue_takes(model):
    of_views = {"ViewDefinition"}  # another shape on the way in than on the way out
    assert set(mapping.TABLE_INPUT) == set(model.shape_for("TableInput").members) - of_views


def test_an_update_of_a_database_gives_back_every_field_that_glue_takes(model):
    made = mapping.database_input(
        "ml", {"description": "d", "location": "s3://l", "owner": "ann"}, dict.fromkeys(mapping._KEPT, "kept")
    )
    assert set(made) == set(model.shape_for("DatabaseInput").members)


@pytest.mark.parametrize("spelling", ["lance", "LANCE", "Lance", "lAnCe"])
def test_an_external_table_with_a_location_that_is_marked_in_any_case_is_a_lance_table(spelling):
    assert mapping.is_lance({**LANCE, "Parameters": {"table_type": spelling}})


@pytest.mark.parametrize(
    "change",
    [
        {"TableType": "MANAGED_TABLE"},
        {"TableType": "VIRTUAL_VIEW"},
        {"TableType": None},
        {"Parameters": {}},
        {"Parameters": None},
        {"Parameters": {"table_type": "ICEBERG"}},
        {"Parameters": {"TABLE_TYPE": "lance"}},
        {"Parameters": {"table_type": " lance"}},
        {"StorageDescriptor": None},
        {"StorageDescriptor": {}},
        {"StorageDescriptor": {"Location": ""}},
    ],
    ids=str,
)
def test_a_table_that_lacks_any_of_these_is_of_another_format(change):
    assert not mapping.is_lance({**LANCE, **change})
    with pytest.raises(InvalidInput, match=r"ml\$t"):
        mapping.require_lance({**LANCE, **change}, ("ml", "t"))


def test_no_property_of_a_declare_makes_a_table_of_another_format():
    made = mapping.creation("t", "s3://lake/t", {"table_type": "delta", "owner": "ann"}, "mark")
    assert made["Parameters"] == {"table_type": "lance", "owner": "ann"}
    assert mapping.mark_of(made) == "mark"
    assert mapping.mark_of({}) is None


def test_altering_and_moving_keep_all_else_and_leave_out_what_glue_does_not_take(documented):
    found = documented("table")["Table"]
    altered = mapping.altered(found, {"owner": "ads", "new": "1"}, ["transient_lastDdlTime", "absent"])
    assert altered["Parameters"] == {"table_type": "LANCE", "owner": "ads", "new": "1"}
    moved = mapping.moved(found, "s3://lake/other", {"a": "b"})
    assert moved["Parameters"] == {"a": "b", "table_type": "lance"}
    assert moved["StorageDescriptor"] == {**found["StorageDescriptor"], "Location": "s3://lake/other"}
    for made in (altered, moved):
        kept = [key for key in mapping.TABLE_INPUT if key in found and key not in ("Parameters", "StorageDescriptor")]
        assert {key: made[key] for key in kept} == {key: found[key] for key in kept}
        assert not made.keys() & {"DatabaseName", "VersionId", "CatalogId", "CreateTime", "FieldOfTomorrow"}


def test_description_and_location_of_a_namespace_are_fields_of_the_database(documented):
    found = documented("database")["Database"]
    properties = mapping.namespace_properties(found)
    assert properties == {"owner": "search", "description": "machine learning", "location": "s3://lake/ml.db/"}
    made = mapping.database_input("ml", properties, found)
    assert made == {key: value for key, value in found.items() if key not in ("CreateTime", "CatalogId")}


@pytest.mark.parametrize("properties", [{}, {"a": ""}, {"description": "", "location": ""}, {"größe": "ünï"}], ids=str)
def test_properties_of_a_namespace_come_back_as_they_were_given(properties):
    assert mapping.namespace_properties(mapping.database_input("ml", properties)) == properties


def test_identifiers_are_folded_and_of_one_or_two_levels():
    assert mapping.database(("ML",)) == "ml"
    assert mapping.table(("ML", "Docs")) == ("ml", "docs")
    for levels in ((), ("a", "b")):
        with pytest.raises(InvalidInput):
            mapping.database(levels)
    for levels in ((), ("a",), ("a", "b", "c")):
        with pytest.raises(InvalidInput):
            mapping.table(levels)
