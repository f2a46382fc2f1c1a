"""The package's public names."""

import subprocess
import sys

import lance_ns_spark


def test_every_public_name_is_there():
    for name in lance_ns_spark.__all__:
        assert getattr(lance_ns_spark, name) is not None
    assert callable(lance_ns_spark.spark_session)
    assert callable(lance_ns_spark.copy)
    assert not hasattr(lance_ns_spark, "nope")


def test_importing_the_package_imports_neither_spark_nor_arrow():
    script = (
        "import sys, lance_ns_spark, lance_ns_spark.cli; lance_ns_spark.ingest, lance_ns_spark.Table; "
        "print({'pyspark', 'pyarrow', 'lance', 'pandas'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
