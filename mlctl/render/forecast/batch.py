"""Forecasts for people and programs, from the data of `schemas/output/forecast.schema.json`."""

from __future__ import annotations

import csv as tables
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlctl import inert
from mlctl.render.forecast.words import (
    FAILED,
    NO_NODE,
    NOT_DONE,
    SWITCHED,
    UNKNOWN,
    Column,
    Grid,
    between,
    cells,
    chance,
    grid,
    outcomes,
    plain_usd,
    scalar,
    time,
    usd,
    value_of,
)
from mlctl.render.page.charts import bars
from mlctl.render.terminal.terminal import Styler, clean
from mlctl.schema.text import counted


def hangs(rows: Sequence[Mapping[str, Any]] | None) -> str:
    """Name the three assumptions that change the cost most, if measurably.

    The price of low priority is excluded: it scales the cost by itself, and is always first.
    """
    if rows is None:
        return ""
    moving = [row for row in rows if row["name"] != _PRICE and any(map(_moves, _ends(row)))]
    factors = [
        f"{clean(row['name'])} ({' to '.join(usd(end['cost']) for end in _ends(row))})"
        for row in moving[:_NAMED]
    ]
    if not factors:
        return " Besides the price of low priority no assumption changes the cost measurably."
    return f" Besides the price of low priority the cost depends most on {', '.join(factors)}."


_PRICE, _NAMED = "low_priority_price", 3


def _ends(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return row["low"], row["high"]


def _moves(end: Mapping[str, Any]) -> bool:
    """Whether the paired interval of the difference in cost is on one side of 0."""
    if end["cost_difference"] is None:
        return False
    low, high = (end["cost_difference"][name] for name in ("low", "high"))
    return low is not None and high is not None and (low > 0 or high < 0)


_NOT_DONE: Column = (
    "P(not done)",
    lambda row: _sides(row, lambda side: chance(side["p_not_done"])),
)
_TORNADO: tuple[Column, ...] = (
    ("", lambda row: clean(row["name"])),
    ("from", lambda row: scalar(row["low"]["value"])),
    ("to", lambda row: scalar(row["high"]["value"])),
    ("P(cancelled)", lambda row: _sides(row, lambda side: chance(side["cancelled"]))),
    _NOT_DONE,
    ("until done", lambda row: _sides(row, lambda side: plain_usd(side["cost"]))),
    ("after", lambda row: _sides(row, lambda side: time(side["time_s"]))),
)


def _sides(row: Mapping[str, Any], text_of: Callable[[Mapping[str, Any]], str]) -> str:
    return f"{text_of(row['low'])} .. {text_of(row['high'])}"


def tornado_table(data: Mapping[str, Any]) -> Grid:
    """Return the assumptions and their effects as a tornado_table."""
    rows = data["sensitivity"]
    done = not any(side["p_not_done"]["value"] for row in rows for side in _ends(row))
    columns = [column for column in _TORNADO if column is not _NOT_DONE or not done]
    return cells(columns, rows)


def tornado_lines(data: Mapping[str, Any], styler: Styler) -> Iterator[str]:
    """Render the tornado_table for a terminal, under its title; nothing without one."""
    if data["sensitivity"]:
        head = "what it depends on: each assumption from low to high, on the same draws"
        yield "\n".join([head, *grid(tornado_table(data), styler)])


_NARROW, _WIDE = 60, 120
_SIGNS = {"allocating": "·", "preparing": "~", "running": "█", "idle": "░", "lost": "x"}
SOURCES = "S: stated by Microsoft or hi-ml, D: documented, A: assumed, F: files, W: the workspace"
LEGEND = "p5, p50, p95: of first runs that completed; cost and its p95: of first runs; USD"


def as_json(data: Mapping[str, Any]) -> str:
    """Format the forecast as JSON, ASCII only."""
    return inert.as_json(data, indent=2) + "\n"


def csv(data: Mapping[str, Any]) -> str:
    """Format the rows as CSV; intervals become columns `_low` and `_high`."""
    out = io.StringIO()
    lines = [dict(_flat(row)) for row in data["rows"]]
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = tables.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def human(data: Mapping[str, Any], *, width: int, color: bool) -> str:
    """Render the forecast for a terminal: sentence, rows, histogram, timelines, assumptions."""
    width, styler = max(min(width, _WIDE), _NARROW), Styler(color)
    first, *later_tables = (grid(table, styler) for table in grids(data))
    parts = [
        subject(data["scenario"]),
        "\n\n".join("\n".join(lines) for lines in ([*first, LEGEND], *later_tables)),
        sentence(data),
        *_histogram(data, width),
        *_timelines(data, width),
        *tornado_lines(data, styler),
        assumptions(data, width),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def sentence(data: Mapping[str, Any]) -> str:
    """Summarize the forecast in one or two sentences."""
    numbers = data["sentence"]
    low, full = numbers["low_priority"], numbers["dedicated"]
    if low is None and full is None:
        return ""
    if low is None:
        return _dedicated(full)
    text = (
        f"On low priority ({clean(numbers['row'])}) the job is"
        f" {_outcome(low, _until_done(data))}; its first run is"
        f" cancelled in {chance(low['cancelled'])} of the cases"
    )
    if low["late"] is not None:
        text += f", and it is late in {chance(low['late'])}"
    text += "." + _at_rate(numbers["rate"])
    text += _start(_until_done(data))
    text += hangs(data["sensitivity"])
    return text if full is None else f"{text} {_dedicated(full, low)}"


def _at_rate(rate: Mapping[str, Any] | None) -> str:
    """State the Spot rate, its date, and the cost at both ends of its range."""
    if rate is None or not (rate["as_of"] or rate["low"]):
        return ""
    text = f" That is at the rate of {rate['usd']:g} USD an hour of a node"
    if rate["as_of"]:
        text += f", known since {rate['as_of']}"
    if rate["low"]:
        low, high = rate["low"], rate["high"]
        costs = f"{plain_usd(low['cost'])} to {usd(high['cost'])}"
        text += f"; at {low['usd']:g} to {high['usd']:g} it costs {costs}"
    return f"{text}."


def _until_done(data: Mapping[str, Any]) -> Mapping[str, Any]:
    row = _main(data)
    assert row is not None  # the sentence is about this row
    until_done: Mapping[str, Any] = row["until_done"]
    return until_done


def _outcome(of: Mapping[str, Any], means: Mapping[str, Any]) -> str:
    """Say how the job ends on low priority: done, not done, or either."""
    day = "by day 90 " if not means["hopeless"] else "before it is given up after 30 runs "
    never = f"not done {day}in {chance(of['p_not_done'])} of the cases (spent so far:"
    never += f" {usd(of['spent'])} on average)"
    if of["time_s"] is None:
        return never
    within = [f"95 % of the time within {time(of['time_p95_s'])}"] if of["time_p95_s"] else []
    after = _aside(between(means["time_s"], time), *within)
    costs = _aside(between(means["cost"], plain_usd))
    done = f"done after {time(of['time_s'])} on average{after}"
    done += f" and costs {usd(of['cost'])}{costs} until"
    return f"{never}; otherwise it is {done} then" if of["not_done"] else f"{done} then"


def _aside(*words: str) -> str:
    """What is known, in parentheses."""
    joined = "; ".join(word for word in words if word != UNKNOWN)
    return f" ({joined})" if joined else ""


def _start(means: Mapping[str, Any]) -> str:
    """Say how a start with available nodes would change the time, if that is uncertain."""
    waited, there = means["p_waited"], means["if_available"]["time_s"]
    if not waited["value"] or there is None:
        return ""
    return (
        f" It begins at any moment, in {chance(waited)} of the cases at one without free nodes; "
        "with"
        f" free nodes it takes {time(there['value'])}."
    )


def _dedicated(full: Mapping[str, Any], low: Mapping[str, Any] | None = None) -> str:
    """Compare with dedicated nodes: their time and cost, and the share that low priority costs."""
    if full["time_s"] is None:
        return (
            f"Dedicated, it is not done by day 90 in {chance(full['p_not_done'])} of the cases"
            f" (spent so far: {usd(full['spent'])} on average)."
        )
    share = ""
    if low is not None and full["cost"] and not low["not_done"]:
        share = f"; low priority is {low['cost'] / full['cost']:.0%} of that"
    return f"Dedicated takes {time(full['time_s'])} and costs {usd(full['cost'])}{share}."


def subject(scenario: Mapping[str, Any]) -> str:
    """Describe in a line the deployment, the cluster, the work and the nodes."""
    of = scenario
    parts = counted(of["mini_batches"], "mini-batch", "mini-batches")
    work = f"{counted(of['files'], 'file')} in {parts}"
    nodes = f"{counted(of['nodes'], 'node')} of {clean(of['size'])}"
    nodes += f", {of['concurrency']} at once on each"
    return f"{clean(of['deployment'])} on {clean(of['cluster'])}: {work}, on {nodes}"


_COLUMNS: tuple[Column, ...] = (
    ("", lambda row: clean(row["name"])),
    ("p5", lambda row: _completion(row, "p5")),
    ("p50", lambda row: _completion(row, "p50")),
    ("p95", lambda row: _completion(row, "p95")),
    ("P(late)", lambda row: chance(row["late"])),
    ("P(cancelled)", lambda row: chance(row["cancelled"], interval=True)),
    FAILED,
    NOT_DONE,
    NO_NODE,
    SWITCHED,
    ("cost", lambda row: plain_usd(row["cost"]["mean"]["value"])),
    ("p95", lambda row: plain_usd(row["cost"]["p95"]["value"])),
    ("until done", lambda row: plain_usd(value_of(row["until_done"]["cost"]))),
    ("after", lambda row: time(value_of(row["until_done"]["time_s"]))),
)
_MORE: tuple[Column, ...] = (
    ("", lambda row: clean(row["name"])),
    ("preempted nodes", lambda row: f"{row['preempted_nodes']:.2f}"),
    ("cores", lambda row: f"{row['preempted_cores']:.2f}"),
    ("lost node-h", lambda row: f"{row['lost_node_hours']:.3f}"),
    ("attempts", lambda row: f"{row['attempts']:.1f}"),
    ("failed mini-batches", lambda row: f"{row['failed_mini_batches']:.2f}"),
    ("runs until done", lambda row: f"{row['until_done']['runs']:.2f}"),
    ("histories", lambda row: f"{row['runs']}"),
    ("that carry the means", lambda row: f"{row['until_done']['carried_by']}"),
)
_THERE = "after, nodes there"
_MEANS: tuple[Column, ...] = (
    ("means, with 95 %", lambda row: clean(row["name"])),
    ("cost", lambda row: _mean(row["cost"]["mean"], plain_usd)),
    ("until done", lambda row: _mean(row["until_done"]["cost"], plain_usd)),
    ("after", lambda row: _mean(row["until_done"]["time_s"], time)),
    (_THERE, lambda row: _mean(row["until_done"]["if_available"]["time_s"], time)),
)


def _mean(of: Mapping[str, Any] | None, words: Callable[[float | None], str]) -> str:
    """Format a mean with its interval."""
    inside = between(of, words)
    mean = words(value_of(of))
    return mean if inside == UNKNOWN else f"{mean} ({inside})"


def _completion(row: Mapping[str, Any], name: str) -> str:
    return UNKNOWN if row["completion_s"] is None else time(row["completion_s"][name]["value"])


def grids(data: Mapping[str, Any]) -> tuple[Grid, Grid, Grid]:
    """Return the rows as table cells: time, chance and cost; means; nodes and work."""
    first = [
        column for column in _COLUMNS if column[0] != "P(late)" or data["deadline_s"] is not None
    ]
    rows = data["rows"]
    waits = any(row["until_done"]["p_waited"]["value"] for row in rows)
    means = [column for column in _MEANS if waits or column[0] != _THERE]
    return cells(outcomes(first, rows), rows), cells(means, rows), cells(_MORE, rows)


def _main(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    name = data["sentence"]["row"]
    return next((row for row in data["rows"] if row["name"] == name), None)


def _histogram(data: Mapping[str, Any], width: int) -> Iterator[str]:
    row = _main(data)
    if row is None or not row["histogram"]:
        return
    ranges = [
        (f"{time(bin_['from_s'])} - {time(bin_['to_s'])}", bin_["runs"])
        for bin_ in row["histogram"]
    ]
    yield (
        f"completion of the first run ({clean(row['name'])})\n" + bars(ranges, width=width).rstrip()
    )


def _timelines(data: Mapping[str, Any], width: int) -> Iterator[str]:
    for line in data["timelines"]:
        room = max(width - 12, 20)
        head = (
            f"the {line['quantile']} history ({clean(line['row'])}, run {line['run']}),"
            f" {time(line['seconds'])}"
        )
        rows = [
            f"  node {node['node']:>3} {_strip(node, line['seconds'], room)}"
            for node in line["nodes"]
        ]
        yield "\n".join([head, *rows])
    if data["timelines"]:
        yield "  ".join(f"{sign} {name}" for name, sign in _SIGNS.items())


def _strip(node: Mapping[str, Any], length: float, room: int) -> str:
    """Draw a node's timeline: each column has the sign of its middle moment."""
    text, at = "", 0
    spells = node["spells"]
    for column in range(room):
        middle = (column + 0.5) / room * length
        while at < len(spells) and spells[at]["to_s"] <= middle:
            at += 1
        inside = at < len(spells) and spells[at]["from_s"] <= middle
        text += _SIGNS[spells[at]["state"]] if inside else " "
    return text.rstrip()


def assumptions(data: Mapping[str, Any], width: int) -> str:
    """List the assumptions, a line each."""
    lines = [f"assumptions ({SOURCES})"]
    for entry in data["assumptions"]:
        value = entry["value"]
        text = "" if isinstance(value, dict) else f" {scalar(value)}"
        line = f"  {entry['source']} {clean(entry['name'])}{text}: {clean(entry['why'])}"
        lines.append(line if len(line) <= width else line[: width - 3] + "...")
    return "\n".join(lines)


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if name in ("histogram", "curve", "weather"):
            continue
        if isinstance(value, dict) and {*value} == {"value", "low", "high"}:
            yield prefix + name, value["value"]
            yield f"{prefix}{name}_low", value["low"]
            yield f"{prefix}{name}_high", value["high"]
        elif isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}_")
        else:
            yield prefix + name, value
