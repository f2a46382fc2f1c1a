"""Job ids."""

import pytest

import lance_ns
from lance_ns_spark import job_ids


def test_the_same_step_with_the_same_parameters_has_the_same_id_whatever_their_order():
    one = job_ids.job_id(pipeline="p", step="1", parameters={"a": 1, "b": [2]})
    assert one == job_ids.job_id(pipeline="p", step="1", parameters={"b": [2], "a": 1})


@pytest.mark.parametrize(
    "other", [{"pipeline": "q"}, {"step": "2"}, {"parameters": {"a": 2}}, {"parameters": {"a": "1"}}]
)
def test_another_pipeline_step_or_parameter_is_another_job(other):
    same = {"pipeline": "p", "step": "1", "parameters": {"a": 1}}
    assert job_ids.job_id(**same) != job_ids.job_id(**{**same, **other})


def test_a_parameter_cannot_be_read_from_an_id():
    assert "secret" not in job_ids.job_id(pipeline="secret", step="secret", parameters={"secret": "secret"})


def test_fresh_ids_differ():
    assert job_ids.fresh() != job_ids.fresh()


@pytest.mark.parametrize("id", ["", " a", "a b", "a\n", "x" * 201, "/a", "ä"])
def test_what_is_no_id_is_refused(id: str):
    with pytest.raises(lance_ns.InvalidInput, match="job id"):
        job_ids.checked(id)


@pytest.mark.parametrize("id", ["a", "2026-11-16/ingest:1", "x" * 200])
def test_an_id_of_ones_own_is_taken(id: str):
    assert job_ids.checked(id) == id
