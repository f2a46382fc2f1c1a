"""The page of charts: one file, made of the results alone, light and dark."""

import math
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

Entry = dict[str, Any]

OURS, SPARK, PEER = "lance-ns", "lance-ns-spark", "the peer"
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
BETWEEN = (0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.4, 1.6, 1.8)

WORDS = (
    "Every figure is a ratio measured in one run, its candidates taking turns: medians, with the spread of the middle "
    "half. The raw client is the catalog's own API with nothing between; the peer is lance-namespace-impls 0.4.2."
)

STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1b1b19; --soft: #62615c; --line: #dedcd5; --row: #f3f2ee;
  --ours: #2a6fc9; --peer: #d9622b; --raw: #8d8b84; --good: #1d7f45; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #191918; --ink: #f0efea; --soft: #a8a69e; --line: #3a3a37;
  --row: #232321; --ours: #5c9bea; --peer: #ee8a57; --raw: #84827b; --good: #5fc48a; --bad: #f0837a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 66rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.75rem 0 .25rem; }
h3 { font-size: .95rem; margin: 1.5rem 0 .4rem; } p { margin: .25rem 0 .75rem; max-width: 46rem; }
.soft, small { color: var(--soft); } .key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.key span::before { content: ""; display: inline-block; width: .7rem; height: .7rem; margin-right: .4rem;
  border-radius: 2px; background: var(--c); }
.chart { display: grid; grid-template-columns: minmax(6rem, 14rem) 1fr; gap: .6rem .9rem; }
.chart > div:nth-child(odd) { text-align: right; line-height: 1.25; }
.plot { position: relative; min-height: 1.1rem; }
.bar { position: relative; height: 1.05rem; margin: 2px 0; }
.bar i { position: absolute; top: 0; bottom: 0; border-radius: 2px; background: var(--c); min-width: 2px; }
.bar b { position: absolute; top: 0; padding: 0 .4rem; font-weight: 500; font-size: .8rem; line-height: 1.05rem;
  white-space: nowrap; }
.bar b.inside, .bar b.before { transform: translateX(-100%); } .bar b.inside { color: var(--page); }
.grid { position: absolute; top: -2px; bottom: -2px; width: 1px; background: var(--line); }
.grid.one { background: var(--soft); }
.axis { height: 1.2rem; } .axis span { position: absolute; transform: translateX(-50%); font-size: .75rem; }
.goals { display: grid; grid-template-columns: minmax(10rem, 20rem) 1fr 11.5rem; gap: 0 .9rem; }
.goals > div { padding: .3rem 0; border-top: 1px solid var(--line); }
.goals .name { font-size: .87rem; line-height: 1.3; } .goals .value { font-size: .87rem; white-space: nowrap; }
.dot { position: absolute; top: 50%; width: .7rem; height: .7rem; margin: -.35rem 0 0 -.35rem; border-radius: 50%;
  background: var(--c); }
.range { position: absolute; top: 50%; height: 3px; margin-top: -1.5px; background: var(--c); opacity: .4; }
.yes { --c: var(--good); color: var(--good); } .no { --c: var(--bad); color: var(--bad); font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; min-width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number, td.short { white-space: nowrap; }
@media (max-width: 40rem) { .goals { grid-template-columns: 1fr; } .goals > div { border: 0; padding: .1rem 0; }
  .goals .name { border-top: 1px solid var(--line); padding-top: .5rem; } .goals .plot { min-height: 1.4rem; } }
"""


class Scale:
    """Where a ratio stands between the ends of a logarithmic axis, in percent."""

    def __init__(self, values: Iterable[float]) -> None:
        known = [value for value in values if value > 0]
        lowest, highest = min([*known, 0.8]), max([*known, 1.25])
        self._low, self._high = math.log(lowest * 0.9), math.log(highest * 1.1)
        ticks = TICKS if highest > 3 * lowest else sorted((*TICKS, *BETWEEN))
        self.ticks = [tick for tick in ticks if lowest <= tick <= highest]

    def __call__(self, value: float) -> float:
        return round(100 * (math.log(max(value, 1e-9)) - self._low) / (self._high - self._low), 2)


def made(entries: list[Entry]) -> str:
    """The page."""
    goals = [each for each in entries if each["met"] is not None]
    met = sum(each["met"] for each in goals)
    machines = sorted({f"{each['at']}, {each['machine']}" for each in entries})
    parts = [
        "<h1>lance-ns beside the raw clients and the peer</h1>",
        f'<p class="soft">{met} of {len(goals)} goals met. {escape("; ".join(machines))}.</p>',
        f"<p>{WORDS}</p>",
        *_beside(entries),
        *_goals(goals),
        *_absent(entries),
        *_table(entries),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>lance-ns: benchmarks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _beside(entries: list[Entry]) -> Iterator[str]:
    """Bars: what each costs of the base's cost."""
    shown = [each for each in entries if each["others"]]
    if not shown:
        return
    yield "<h2>What it costs</h2>"
    yield "<p>As a multiple of the base, which is 1; shorter is better. Logarithmic.</p>"
    yield (
        f'<p class="key"><span style="--c: var(--ours)">{OURS}</span><span style="--c: var(--peer)">{PEER}</span>'
        '<span style="--c: var(--raw)">others</span></p>'
    )
    for name in dict.fromkeys(each["figure"] for each in shown):
        rows = [each for each in shown if each["figure"] == name]
        scale = Scale(value for each in rows for value in each["others"].values())
        yield f'<h3>{escape(name)}</h3><div class="chart">'
        for each in rows:
            bars = "".join(_bar(scale, who, value) for who, value in each["others"].items() if who != each["against"])
            yield f"<div>{escape(each['backend'])}<br><small>1 = {escape(each['against'])}</small></div>"
            note = f"<small>{escape(each['note'])}</small>" if each["note"] else ""
            yield f'<div><div class="plot">{_lines(scale)}{bars}</div>{note}</div>'
        yield f"<div></div>{_axis(scale)}</div>"


def _bar(scale: Scale, who: str, value: float) -> str:
    start, end = sorted((scale(1), scale(value)))
    colour = {OURS: "--ours", SPARK: "--ours", PEER: "--peer"}.get(who, "--raw")
    label = f"{value:.3g}" + ("" if who in (OURS, PEER) else f" {who}")
    # A label that would leave the chart stands in the bar, at its end; a long one before it.
    if end <= 70 or value < 1:
        where = f'<b style="left: {end}%">'
    elif who in (OURS, PEER):
        where = f'<b class="inside" style="left: {end}%">'
    else:
        where = f'<b class="before" style="left: {start}%">'
    return (
        f'<div class="bar" title="{escape(who)}: {value:.3g}"><i style="left: {start}%; width: {end - start:.2f}%; '
        f'--c: var({colour})"></i>{where}{escape(label)}</b></div>'
    )


def _goals(goals: list[Entry]) -> Iterator[str]:
    """Dots: how far each figure is from its goal."""
    if not goals:
        return
    yield "<h2>How far from the goals</h2>"
    yield "<p>The line is the goal; left of it is better, by that factor. The bar is the spread. Logarithmic.</p>"
    scale = Scale(_used(each, each["value"]) for each in goals)
    for backend in dict.fromkeys(each["backend"] for each in goals):
        yield f'<h3>{escape(backend)}</h3><div class="goals">'
        for each in (each for each in goals if each["backend"] == backend):
            half = each["value"] * each["spread"] / 2
            ends = sorted(
                scale(_used(each, max(value, 1e-9))) for value in (each["value"] - half, each["value"] + half)
            )
            left, right = max(ends[0], 0), min(ends[1], 100)
            kind, word = ("yes", "met") if each["met"] else ("no", "missed")
            yield (
                f'<div class="name">{escape(each["figure"])}<br><small>against {escape(each["against"])}</small></div>'
                f'<div class="plot {kind}" title="{each["value"]:.3g}, goal {escape(each["goal"])}">{_lines(scale)}'
                f'<i class="range" style="left: {left}%; width: {right - left:.2f}%"></i>'
                f'<i class="dot" style="left: {scale(_used(each, each["value"]))}%"></i></div>'
                f'<div class="value">{each["value"]:.3g} <small>goal {escape(each["goal"])}</small> '
                f'<span class="{kind}">{word}</span></div>'
            )
        yield "</div>"


def _used(entry: Entry, value: float) -> float:
    """How much of its goal a value uses up: 1 is the goal, less is better."""
    sign, limit = entry["goal"].split()
    return value / float(limit) if sign == "≤" else float(limit) / value


def _lines(scale: Scale) -> str:
    return "".join(
        f'<i class="grid{" one" if tick == 1 else ""}" style="left: {scale(tick)}%"></i>' for tick in scale.ticks
    )


def _axis(scale: Scale) -> str:
    ticks = "".join(f'<span style="left: {scale(tick)}%">{tick:g}</span>' for tick in scale.ticks)
    return f'<div class="plot axis soft">{ticks}</div>'


def _absent(entries: list[Entry]) -> Iterator[str]:
    absent = [each for each in entries if each["value"] is None]
    if absent:
        yield "<h2>Not measured</h2><ul>"
        yield from (f"<li>{escape(each['backend'])}: {escape(each['note'])}</li>" for each in absent)
        yield "</ul>"


def _table(entries: list[Entry]) -> Iterator[str]:
    yield '<h2>All figures</h2><div class="scroll"><table><thead><tr><th>figure</th><th>backend</th>'
    yield '<th class="number">ratio</th><th>goal</th><th>met</th><th>against</th><th class="number">spread</th>'
    yield "<th>note</th></tr></thead><tbody>"
    for each in (each for each in entries if each["value"] is not None):
        kind, word = {True: ("yes", "yes"), False: ("no", "no"), None: ("", "–")}[each["met"]]
        yield (
            f"<tr><td>{escape(each['figure'])}</td>"
            f"<td>{escape(each['backend'])} <small>{escape(each['server'])}</small></td>"
            f'<td class="number">{each["value"]:.3g}</td><td class="short">{escape(each["goal"])}</td>'
            f'<td><span class="{kind}">{word}</span></td><td>{escape(each["against"])}</td>'
            f'<td class="number">{each["spread"]:.0%}</td><td><small>{escape(each["note"])}</small></td></tr>'
        )
    yield "</tbody></table></div>"
