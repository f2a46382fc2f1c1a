"""Tables by patterns."""

import pyarrow as pa
import pytest

from lance_ns.errors import NamespaceNotFound, TableNotFound
from lance_ns_spark import patterns


@pytest.fixture
def full(lake):
    for namespace in ("ml$v2", "raw"):
        lake.create_namespace(namespace)
    for table in ("ml$docs", "ml$docs_old", "ml$v2$docs", "raw$docs"):
        lake.write(table, pa.table({"id": [1]}))
    return lake


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ml$docs", {"ml$docs"}),
        ("ml$*", {"ml$docs", "ml$docs_old"}),
        ("ml$**", {"ml$docs", "ml$docs_old", "ml$v2$docs"}),
        ("*$docs", {"ml$docs", "raw$docs"}),
        ("**", {"ml$docs", "ml$docs_old", "ml$v2$docs", "raw$docs"}),
        ("**$docs", {"ml$docs", "ml$v2$docs", "raw$docs"}),
        ("ml$doc?", {"ml$docs"}),
    ],
)
def test_stars_stay_within_a_level_and_double_stars_do_not(pattern, expected, full):
    assert {"$".join(id) for id in patterns.tables(full, [pattern])} == expected


def test_patterns_add_up_and_exclusions_take_away(full):
    found = patterns.tables(full, ["ml$docs", "ml$*", "raw$*"], exclude=["*$*_old"])
    assert found == [("ml", "docs"), ("raw", "docs")]


def test_a_plain_identifier_is_not_looked_for(lake):
    assert patterns.tables(lake, ["ml$later"]) == [("ml", "later")]


def test_a_pattern_that_nothing_fits_is_an_error(full):
    with pytest.raises(TableNotFound, match="no table fits 'ml\\$x\\*'"):
        patterns.tables(full, ["ml$x*"])
    with pytest.raises(NamespaceNotFound):
        patterns.tables(full, ["nope$*"])
