"""What people see of a job's progress, and when it is done."""

import io
import re
from datetime import UTC, datetime

from lance_ns_spark.display import Display, plan_of, summary_of
from lance_ns_spark.progress import Counter, Status
from lance_ns_spark.results import Input, Output, Result


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def screen(text: str) -> list[str]:
    """What a terminal shows after it was sent a text."""
    lines: list[str] = []
    for part in re.split(r"(\x1b\[\d+F\x1b\[J)", text):
        if up := re.fullmatch(r"\x1b\[(\d+)F\x1b\[J", part):
            del lines[-int(up[1]) :]
        else:
            lines += part.splitlines()
    return lines


def test_without_a_terminal_a_line_is_printed_when_a_part_has_ended_and_now_and_then():
    stream, clock = io.StringIO(), Clock()
    counter = Counter(Display(stream, clock=clock), "ingest", "prod:ml$docs", 3)
    clock.now = 1
    counter.add(0, rows=1_000, bytes=2_000_000)
    assert stream.getvalue() == ""
    clock.now = 11
    counter.add(1, rows=1_000, bytes=2_000_000)
    clock.now = 12
    counter.add(2, rows=1_000, bytes=2_000_000)
    first, last = stream.getvalue().splitlines()
    assert first.split() == ["ingest", "prod:ml$docs", "2/3", "tasks", "2.0", "k", "rows", "4.0", "MB", "363.6", "kB/s"]
    assert last.split() == ["ingest", "prod:ml$docs", "3/3", "tasks", "3.0", "k", "rows", "6.0", "MB", "500.0", "kB/s"]


def test_on_a_terminal_a_bar_grows_in_its_place_and_stays_when_it_is_full():
    stream, clock = io.StringIO(), Clock()
    display = Display(stream, bars=True, clock=clock)
    one = Counter(display, "copy", "a", 2)
    clock.now = 1
    two = Counter(display, "copy", "b", 4)
    clock.now = 2
    one.add(0)
    assert [line.split()[2] for line in screen(stream.getvalue())] == ["█" * 10 + "░" * 10, "░" * 20]
    clock.now = 3
    two.add(0)
    one.add(1)
    shown = screen(stream.getvalue())
    assert [line.split()[1] for line in shown] == ["a", "b"]
    assert "█" * 20 in shown[0]
    display.close()


def test_names_cannot_move_the_cursor():
    stream = io.StringIO()
    Display(stream)(Status(job="copy", what="a\x1b[2Jb", done=1, of=1))
    assert "\x1b" not in stream.getvalue()


def test_many_parts_at_once_do_not_fill_the_terminal():
    stream, clock = io.StringIO(), Clock()
    display = Display(stream, bars=True, clock=clock)
    for number in range(20):
        clock.now += 1
        display(Status(job="copy", what=str(number), done=0, of=2))
    assert screen(stream.getvalue())[-1] == "… and 12 more"


def result(**fields) -> Result:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    return Result(job="j", kind="ingest", started=now, ended=now, **fields)


def test_a_summary_tells_versions_rows_and_states():
    outputs = [
        Output(name="a", version=3, read_version=2, rows=12_300, bytes=1_000),
        Output(name="b", version=1, again=True),
        Output(name="c", error="gone"),
        Output(name="a", version=4, details={"index": "id_idx"}),
    ]
    lines = list(summary_of("load", result(outputs=outputs)))
    assert lines[0] == ("load", "a", "v2 → v3", "12.3 k", "1.0 kB", "done")
    assert [line[-1] for line in lines[1:3]] == ["was done before", "failed: gone"]
    assert lines[3][1] == "a index id_idx"
    assert next(iter(summary_of("load", result())))[-1] == "nothing to do"


def test_a_plan_tells_what_is_read_and_what_is_written():
    planned = result(
        inputs=[Input(name="raw", rows=5)], outputs=[Output(name="a", read_version=2, version=2, again=True)]
    )
    assert list(plan_of("load", planned)) == [
        ("load", "reads", "raw", "", "5", ""),
        ("load", "writes", "a", "v2", "", "was done before"),
    ]
