"""Run the benchmarks and write results: `make bench`, or `make bench ONLY=relay`."""

import json
import os
import platform
import sys
from pathlib import Path

from benchmarks import relay, startup

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
SUITES = {"startup": startup.figures, "relay": relay.figures}
START, END = "<!-- results -->", "<!-- end of results -->"


def main() -> None:
    """Measure the suites that were named, or all."""
    wanted = sys.argv[1:] or list(SUITES)
    figures = []
    for name in wanted:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        figures += SUITES[name]()
    lines = [
        "| figure | backend | ratio | goal | met | against | spread |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(
            f"| {each.figure} | {each.backend} | {each.value:.3g} | {each.goal} | {'yes' if each.met else 'no'} "
            f"| `{each.against}` | {each.spread:.0%} |"
            for each in figures
        ),
    ]
    print("\n".join(lines))
    if wanted == list(SUITES):
        RESULTS.mkdir(exist_ok=True)
        content = json.dumps([each._asdict() for each in figures], indent=2, ensure_ascii=False)
        (RESULTS / "latest.json").write_text(content + "\n", encoding="utf-8")
        machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores."
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(START)[0], page.partition(END)[2]
        results = "\n".join([machine, "", *lines])
        PAGE.write_text(f"{before}{START}\n{results}\n{END}{after}", encoding="utf-8")
    if not all(each.met for each in figures):
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
