"""A minute with lance-ns: a catalog, a table of vectors, a search, a tree, and a pipeline over them on Spark."""

import random
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_ns

DIMENSION = 64
WORKSPACE = Path(__file__).resolve().parent.parent
WORDS = "red green blue warm cold bright dark small large round square old new fast slow quiet".split()  # noqa: SIM905


def embed(text: str) -> list[float]:
    """A stand-in for a model: each word points in a direction of its own, a text in the sum of its words'."""
    vectors = [direction(word) for word in text.split()]
    return [sum(axis) / len(vectors) for axis in zip(*vectors, strict=True)]


@cache
def direction(word: str) -> list[float]:
    """A direction that is always the same for a word."""
    chance = random.Random(word)
    return [chance.gauss(0, 1) for _ in range(DIMENSION)]


def documents(count: int, first: int = 0) -> pa.Table:
    """Texts with their vectors."""
    pick = random.Random(first or 7)
    texts = [" ".join(pick.sample(WORDS, 4)) for _ in range(count)]
    vectors = pa.array([embed(text) for text in texts], pa.list_(pa.float32(), DIMENSION))
    return pa.table({"id": range(first, first + count), "text": texts, "vector": vectors})


def say(line: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{line}\033[0m" if sys.stdout.isatty() else f"\n# {line}", flush=True)


def main() -> None:
    """Run the demo in a directory that goes away with it."""
    with tempfile.TemporaryDirectory(prefix="lance-ns-demo-") as directory:
        lake = str(Path(directory) / "lake")
        say("Connect to the embedded default, and make a namespace")
        with lance_ns.connect("dir", root=lake) as ns:
            ns.create_namespace("ml", properties={"owner": "search"})
            print(ns, dict(ns.describe_namespace("ml").properties or {}))

            say("Write a table of 2,000 vectors: it is declared in the catalog, then written with pylance")
            dataset = ns.write("ml$docs", documents(2_000))
            ns.declare_table("ml$images")
            print(f"ml$docs: {dataset.count_rows()} rows, version {dataset.version}")

            say("Describe it")
            described = ns.describe_table("ml$docs", load_detailed_metadata=True)
            columns = ", ".join(field["name"] for field in (described.schema or {})["fields"])
            print(f"version {described.version}, columns {columns}, {described.stats}")

            say("Search it: the nearest to 'warm red bright round'")
            nearest = {"column": "vector", "q": embed("warm red bright round"), "k": 3}
            found = ns.dataset("ml$docs").to_table(columns=["text", "_distance"], nearest=nearest)
            for row in found.to_pylist():
                print(f"  {row['_distance']:.3f}  {row['text']}")

            say("An error says what happened, where, and with which code")
            try:
                ns.describe_table("ml$nope")
            except lance_ns.TableNotFound as error:
                print(error)

        say("List the tree, with the command line")
        command = Path(sys.executable).with_name("lance-ns")
        tree = [command, "tree", "-p", f"root={lake}"]
        subprocess.run(tree, check=True)

        say(
            "Run a pipeline on Spark: three Parquet files come in, the table is compacted and indexed, a report is made"
        )
        raw = Path(directory) / "raw"
        raw.mkdir()
        for number in range(1, 4):
            pq.write_table(documents(2_000, number * 2_000), raw / f"{number}.parquet")
        report = Path("build", "demo", "inventory.html")
        pipeline = [command, "pipeline", "run", Path("demo", "pipeline.toml")]
        given = [f"--set={name}={value}" for name, value in (("raw", raw), ("lake", lake), ("report", report))]
        subprocess.run([*pipeline, *given], cwd=WORKSPACE, check=True)
        print(f"report: {report}")
        print()
        subprocess.run(tree, check=True)

        say("The same lines with another backend: only the first one changes")
        print('lance_ns.connect("glue", region="eu-west-1", root="s3://lake")   # pip install lance-ns-glue')
        print('lance_ns.connect("hive3", uri="thrift://metastore:9083")         # pip install lance-ns-hive3')
        print('lance_ns.connect(profile="prod")                                 # from lance-ns.toml')


if __name__ == "__main__":
    main()
