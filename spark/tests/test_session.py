"""Sessions with the settings that these jobs need."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lance_ns_spark.session import SETTINGS, session


def test_a_session_has_the_settings_and_those_that_are_given(spark: Any):
    conf = spark.sparkContext.getConf()
    assert {key: conf.get(key) for key in SETTINGS} == SETTINGS
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_a_session_that_is_there_is_used_and_knows_the_format(spark: Any):
    again = session("another")
    assert again.sparkContext is spark.sparkContext
    with pytest.raises(Exception, match="told no table"):
        again.read.format("lance_ns").load()


def test_a_master_that_is_given_otherwise_is_left_alone(tmp_path: Path):
    """As `spark-submit` and notebooks do it: by the environment."""
    code = (
        "from lance_ns_spark.session import session\n"
        "spark = session(spark__ui__enabled='false', spark__driver__memory='512m')\n"
        "print(spark.sparkContext.master)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": "--master local[1] pyspark-shell"},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout.split()[-1:]) == (0, ["local[1]"]), run.stderr
