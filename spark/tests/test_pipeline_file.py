"""Pipeline files: what they may say, and what is said of a wrong one."""

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from lance_ns.errors import InvalidInput
from lance_ns_spark.pipeline import file, reference
from lance_ns_spark.pipeline.schema import Ingest, Maintain, duration, kind_of

NIGHTLY = """
name = "nightly-docs"

[[step]]
ingest  = { format = "parquet", path = "s3://raw/docs/{date}/*.parquet" }
into    = { profile = "prod", table = "ml$docs" }
vectors = { embedding = 768 }
indexes = [{ column = "embedding", type = "IVF_PQ", params = { num_partitions = 8 } }]

[[step]]
name          = "tidy"
maintain      = { profile = "prod", tables = ["ml$*"], exclude = ["ml$raw"] }
keep_versions = "30d"

[[step]]
copy = { profile = "prod", tables = ["ml$docs"] }
to   = { profile = "hive", namespace = "hive$ml" }
how  = "register"

[[step]]
inventory = [{ profile = "prod" }, { profile = "hive", namespace = "hive" }]
report    = "reports/lake.html"

[[step]]
verify = { backend = "dir", properties = { root = "lake" } }
"""


def written(directory: Path, text: str, name: str = "nightly.toml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def faults(directory: Path, text: str, **given: str) -> list[str]:
    with pytest.raises(InvalidInput) as raised:
        file.read(written(directory, text), given)
    return [str(raised.value).replace(f"{directory}/", ""), *getattr(raised.value, "__notes__", ())]


def test_a_file_is_read_into_steps_in_their_order(tmp_path):
    pipeline = file.read(written(tmp_path, NIGHTLY), {"date": "2026-11-16"})
    assert [kind_of(step) for step in pipeline.step] == ["ingest", "maintain", "copy", "inventory", "verify"]
    first, second = pipeline.step[:2]
    assert isinstance(first, Ingest)
    assert first.ingest.paths == ("s3://raw/docs/2026-11-16/*.parquet",)
    assert first.mode == "append"
    assert first.vectors == {"embedding": 768}
    assert first.indexes[0].params == {"num_partitions": 8}
    assert isinstance(second, Maintain)
    assert second.maintain.tables == ("ml$*",)


def test_yaml_says_the_same_as_toml(tmp_path):
    toml = file.read(written(tmp_path, NIGHTLY), {"date": "x"})
    import tomllib

    import yaml

    text = yaml.safe_dump(tomllib.loads(NIGHTLY))
    assert file.read(written(tmp_path, text, "nightly.yaml"), {"date": "x"}) == toml


def test_every_fault_of_a_file_is_told_with_its_step_its_field_and_the_nearest_name(tmp_path):
    told = faults(
        tmp_path,
        """
        name = "n"
        [[step]]
        ingest  = { format = "parquet", path = "x" }
        into    = { profile = "prod", tabel = "ml$docs" }
        vectors = { embedding = "768" }
        indexes = [{ column = "a", type = "BTREE" }, { column = "embedding", type = 5 }]
        [[step]]
        inventry = []
        [[step]]
        copy = { profile = "prod" }
        to   = { profile = "hive" }
        mode = "apend"
        files = { rows_per_file = 0 }
        """,
    )
    assert told[0] == "nightly.toml: step 1 (ingest), field into.table is missing (InvalidInput, 13)"
    for expected in (
        "step 1 (ingest), field into.tabel is not known: did you mean 'table'?",
        "step 1 (ingest), field vectors.embedding is a whole number, not the text '768'",
        "step 1 (ingest), field indexes[2].type is text, not 5; put it into quotes",
        "step 2 says nothing to do: did you mean 'inventory'?",
        "step 3 (copy), field mode must be one of create, append, overwrite, got 'apend': did you mean 'append'?",
        "step 3 (copy), field files.rows_per_file must be at least 1, got 0",
    ):
        assert any(expected in each for each in told), (expected, told)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("verify = { tables = ['x'] }", "named by either `profile` or `backend`"),
        ("verify = { profile = 'a', backend = 'dir' }", "named by either `profile` or `backend`"),
        ("verify = { profile = 'a', properties = { root = 'x' } }", "`properties` go with `backend`"),
        ("verify = 'all'", "field verify is a table of fields, not the text 'all'"),
        ("verify = { profile = 'a' }\ncopy = { profile = 'a' }", "is copy and verify at once"),
        ("inventory = [{ backend = 'dir' }, { backend = 'dir' }]", "two catalogs are called 'dir'"),
        ("maintain = { profile = 'a' }\nkeep_versions = '7 years'", "'7 years' is no duration"),
        ("maintain = { profile = 'a' }\nkeep_versions = '1d'", "keep versions for 7 days or longer"),
        ("maintain = { profile = 'a' }\nindexes = [{ column = 'a', type = 'BTREEE' }]", "BTREE"),
        ("ingest = { format = 'lance' }\ninto = { profile = 'a', table = 't' }", "named by either"),
        ("ingest = { format = 'parquet' }\ninto = { profile = 'a', table = 't' }", "needs `path`"),
    ],
)
def test_what_makes_no_sense_is_refused(step, expected, tmp_path):
    assert expected in "\n".join(faults(tmp_path, f"name = 'n'\n[[step]]\n{step}\n"))


def test_secrets_are_refused_and_not_shown(tmp_path):
    in_clear = "name = 'n'\n[[step]]\nverify = { backend = 'glue', properties = { secret_access_key = 'hush' } }\n"
    told = "\n".join(faults(tmp_path, in_clear))
    assert "belongs in a profile" in told
    assert "hush" not in told
    jdbc = """
    name = "n"
    [[step]]
    ingest = { format = "jdbc", options = { url = "jdbc:x", password = "PASSWORD" } }
    into   = { profile = "prod", table = "t" }
    """
    told = "\n".join(faults(tmp_path, jdbc.replace("PASSWORD", "hush")))
    assert 'password = "${NAME}"' in told
    assert "hush" not in told
    assert file.read(written(tmp_path, jdbc.replace("PASSWORD", "${DB_PASSWORD}")))


def test_names_in_braces_are_filled_in_and_double_braces_are_braces(tmp_path):
    assert file.filled({"a": ["{x}/{{y}}/${Z}"]}, {"x": "1"}, "f") == {"a": ["1/{y}/${Z}"]}
    with pytest.raises(InvalidInput, match=r"\{x\} is not given.*--set x=…"):
        file.filled("{x}", {}, "f")
    with pytest.raises(InvalidInput, match=r"write \{\{ and \}\}"):
        file.filled("part-{0,1}.csv", {}, "f")
    with pytest.raises(InvalidInput, match=r"\{dat\} does not occur.*did you mean 'date'"):
        file.filled("{date}", {"date": "1", "dat": "2"}, "f")


def test_a_file_that_is_none_says_why(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        file.read(tmp_path / "nightly.toml")
    with pytest.raises(InvalidInput, match=r"ends in \.toml"):
        file.read(written(tmp_path, "", "nightly.json"))
    with pytest.raises(InvalidInput, match=r"is no TOML: .*"):
        file.read(written(tmp_path, "name = {\n"))
    with pytest.raises(InvalidInput, match=r"is no YAML: .*line 1"):
        file.read(written(tmp_path, "a: [", "nightly.yml"))
    assert faults(tmp_path, "step = []") == ["nightly.toml: field name is missing (InvalidInput, 13)"]
    assert "at least one step" in faults(tmp_path, "name = 'n'\nstep = []")[0]


def test_steps_that_cannot_be_told_apart_are_refused(tmp_path):
    step = "[[step]]\nverify = { profile = 'a' }\n"
    assert "steps 1 and 2 are the same" in faults(tmp_path, "name = 'n'\n" + step * 2)[0]
    named = step + "name = 'x'\n"
    assert "both called 'x'" in faults(tmp_path, "name = 'n'\n" + named + named + "checksums = 'c'\n")[0]


def test_durations_have_units():
    assert duration("90m") == timedelta(minutes=90)
    assert duration("30 d") == timedelta(days=30)
    assert duration("2w") == timedelta(weeks=2)


def test_the_json_schema_takes_what_the_reader_takes(tmp_path):
    import tomllib

    schema = json.loads(json.dumps(reference.json_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors(tomllib.loads(NIGHTLY)))
    wrong = tomllib.loads(NIGHTLY.replace('how  = "register"', 'how = "teleport"'))
    assert list(validator.iter_errors(wrong))
    unknown = tomllib.loads(NIGHTLY.replace("keep_versions", "keep_version"))
    assert list(validator.iter_errors(unknown))


def test_the_reference_describes_every_field():
    manual = reference.manual()
    for title in ("## The file", "### ingest", "### Source", "### Index"):
        assert f"{title}\n" in manual
    assert "| `mode` | `create` or `append` or `overwrite` | `append` |" in manual
    assert "[OneTable](#onetable)" in manual
