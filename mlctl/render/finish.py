"""`mlctl finish` for people: the offer, events, the state of a job, and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from mlctl.durations import elapsed
from mlctl.render.page import html
from mlctl.render.page.svg import Axis, Curve, Lane, Stretch
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted

TIERS = {"low_priority": "low priority", "dedicated": "dedicated"}
_LOSSES = ("run", "shard", "tier", "ended", "because", "USD")
_HEADS = ("policy", "until done", "95 %", "cost", "late", "runs")
_STATES = {"Completed": "running", "Failed": "failed", "Canceled": "lost", "": "running"}


def offer(order: Mapping[str, Any], options: Sequence[Mapping[str, Any]], *, width: int) -> str:
    """Describe the order and its alternatives; the first option is the chosen one."""
    rows = [_HEADS, *map(_option, options)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    table = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)) for row in rows
    ]
    work = f"{sum(order['sizes'])} files in {counted(len(order['sizes']), 'shard')}"
    target = f"{order['endpoint']}/{order['deployment']}"
    if order["whole"]:
        work = "a job that every run does as a whole,"
    elif order["job"] is not None:
        work = f"{counted(order['sizes'][0], 'step')}, with checkpoints in `{order['checkpoint']}`,"
    if order["job"] is not None:
        target = order["deployment"] or "nodes of its own"
    limits = [f"done within {elapsed(order['deadline_s'])}"] if order["deadline_s"] else []
    limits += (
        [f"for no more than {order['max_cost']:g} USD"] if order["max_cost"] is not None else []
    )
    head = f"{order['name']}: {work} on {target}"
    twin = f"{order['dedicated'] or 'a dedicated node'} takes what must not be lost"
    if order["makes_twin"]:
        twin += "; it is created if needed, with its own cluster, and removed at the end"
    lines = [
        head,
        f"By the policy {order['policy']}" + (f", {' and '.join(limits)}" if limits else ""),
    ]
    return "\n".join(
        clean(line.rstrip()[:width] if line in table else line)
        for line in [*lines, twin, "", *table]
    )


def _option(option: Mapping[str, Any]) -> tuple[str, ...]:
    late = "-" if option["late"] is None else f"{option['late']:.1%}"
    times = (option["time_s"], option["time_p95_s"])
    return (
        str(option["policy"]),
        *("never" if seconds is None else elapsed(seconds) for seconds in times),
        usd(option["cost"]),
        late,
        f"{option['runs']:.1f}",
    )


def event(record: Mapping[str, Any], began: float) -> str:
    """Format a record of a journal as a line."""
    return clean(f"{elapsed(record['at'] - began):>8}  {_happened(record)}")


def _happened(record: Mapping[str, Any]) -> str:
    words = _EVENTS.get(record["event"])
    if words is not None:
        return words(record)
    reason = (
        f": {record['reason']}" if record.get("reason") else ""
    )  # the first record, or the last
    return f"{record.get('outcome', 'begun')}{reason}"


def _submitted(record: Mapping[str, Any]) -> str:
    return f"{record['run']}: {part(record)} on {TIERS[record['tier']]} nodes"


def part(run: Mapping[str, Any]) -> str:
    """Name a run's work: a shard, or the steps of a training job from its checkpoint."""
    resumes = run.get("resumes")
    if resumes is None:
        return f"shard {run['shard'] + 1}"
    return f"from step {run['first']} of {resumes}" if resumes else "from the beginning"


def amount(data: Mapping[str, Any]) -> tuple[int, int, str]:
    """Return how much is done of how much, in which unit: shards or training steps."""
    if data["unit"] == "step":
        files = data["files"]
        return files["total"] - files["left"], files["total"], "step"
    return data["shards"]["done"], data["shards"]["total"], data["unit"]


_EVENTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "uploaded": lambda record: f"sent {record['files']} files to the workspace's storage",
    "submit": _submitted,
    "ended": lambda record: f"{record['run']}: {_ended(record)}",
    "settled": lambda record: (
        f"run {record['number'] + 1} was billed {record['node_s']:.0f} node-seconds"
    ),
    "make": lambda record: f"making {record['address']}",
    "no-twin": lambda record: f"no dedicated twin yet: {record['reason']}",
    "removed": lambda record: f"removed {record['address']}",
}


def _ended(record: Mapping[str, Any]) -> str:
    reason = f", {record['reason']}" if record["reason"] else ""
    saved = record.get("saved")
    checkpoint = f"; its checkpoint has {counted(saved, 'step')}" if saved is not None else ""
    return f"{record['status'].lower()}{reason}{checkpoint}"


def live(record: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Format a record as a line that ends in the state of the job."""
    stands = ""
    if record["event"] == "ended":
        done, total, noun = amount(data)
        stands = f"  [{done}/{total} {noun}s, {usd(data['spent'])}]"
    return event(record, data["began"]) + stands


def summary(data: Mapping[str, Any]) -> str:
    """Summarize the state of a job in one line."""
    (done, total, noun), runs = amount(data), data["runs"]
    lost = sum(run["status"] == "Canceled" for run in runs)
    state = data["outcome"] or "under way"
    reason = f" ({data['reason']})" if data["reason"] else ""
    last = max((run["ended"] or run["at"] for run in runs), default=data["began"])
    return clean(
        f"{data['name']}: {state}{reason}; {done} of {counted(total, noun)},"
        f" {counted(len(runs), 'run')}, {lost} lost, {counted(data['switches'], 'change')} of tier,"
        f" {usd(data['spent'])}, {elapsed(last - data['began'])}"
    )


def human(data: Mapping[str, Any]) -> str:
    """Describe a job and its runs."""
    rows = "\n".join(
        clean(
            f"  {run['name']}: {part(run)}, {TIERS[run['tier']]},"
            f" {run['status'].lower() or 'under way'}, {usd(run['usd'])}"
        )
        for run in data["runs"]
    )
    if data["outlook"]:
        rows += "\n" + clean(
            f"  left: {remainder(data, data['outlook'], data['now'], data['now'])}"
        )
    twin = f"\n  created for it: {', '.join(data['made'])}" if data["made"] else ""
    return f"{summary(data)}\n{rows}{twin}"


def remainder(
    data: Mapping[str, Any], outlook: Mapping[str, float | None], now: float, as_of: float
) -> str:
    """What is still to come of a job, by an outlook of the moment `as_of`."""
    elapsed_s = now - as_of
    median, slow = (
        elapsed(max((outlook[key] or 0.0) - elapsed_s, 0.0)) for key in ("left_s", "left_p95_s")
    )
    words = f"about {median}, at most {slow} in 95 % of cases"
    if outlook["late"] is None:
        return words
    until = elapsed(max(data["began"] + data["deadline_s"] - now, 0))
    return f"{words}; {until} until the deadline, late with {outlook['late']:.1%}"


def page(data: Mapping[str, Any]) -> str:
    """Return the same as an HTML page: the timeline of each shard, costs, and the forecast."""
    end = max((run["ended"] or data["now"] for run in data["runs"]), default=data["now"])
    length = max(end - data["began"], 1.0)
    ticks = tuple(elapsed(length * part / 4) for part in range(5))
    options = tuple(map(_option, data["forecast"]))
    losses = tuple(_losses(data))
    parts = (
        html.Timeline("Runs by shard and tier", length, tuple(_lanes(data, end)), ticks),
        _spending(data, end),
        *([html.HtmlTable("Losses", _LOSSES, losses)] if losses else ()),
        html.HtmlTable("Forecast at the start", _HEADS, options),
    )
    return html.document(html.Page(f"{data['name']}", summary(data), parts))


def _lanes(data: Mapping[str, Any], end: float) -> Iterator[Lane]:
    began = data["began"]
    for shard in range(data["shards"]["total"]):
        for tier, words in TIERS.items():
            spells = tuple(
                Stretch(_STATES[run["status"]], run["at"] - began, (run["ended"] or end) - began)
                for run in data["runs"]
                if (run["shard"], run["tier"]) == (shard, tier)
            )
            if spells:
                yield Lane(f"{shard + 1}, {words}", spells)


def _spending(data: Mapping[str, Any], end: float) -> html.Curves:
    """Draw the costs over time beside the forecast, which is spread evenly until done."""
    began, option = data["began"], (data["forecast"] or [{}])[0]
    totals = accumulate(run["usd"] for run in data["runs"])
    spent = [(0.0, 0.0)]
    spent += [
        ((run["ended"] or end) - began, total)
        for run, total in zip(data["runs"], totals, strict=True)
    ]
    band = [(at, usd_) for at, usd_ in option.get("band") or ()]
    highest = max(usd_ for _, usd_ in [*spent, *band]) or 1.0
    longest = max(at for at, _ in [*spent, *band])
    rows = [Curve("spent", tuple((at, usd_ / highest) for at, usd_ in spent))]
    if band:
        corners = tuple((at, usd_ / highest) for at, usd_ in [(0.0, 0.0), *band])
        rows.append(Curve("forecast, nine cases of ten", corners, is_area=True))
    deadline = data["deadline_s"]
    line = ("deadline", deadline) if deadline is not None and deadline <= 2 * longest else None
    x = Axis("time since it began", "0", elapsed(max(longest, deadline if line else 0.0)))
    return html.Curves("Cost", tuple(rows), x, line, up=f"USD: 0 to {highest:.3g}")


def _losses(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for run in data["runs"]:
        if run["status"] in ("Canceled", "Failed"):
            at = elapsed(run["ended"] - data["began"])
            facts = (run["name"], str(run["shard"] + 1), TIERS[run["tier"]], at)
            yield (*facts, run["reason"] or run["status"].lower(), f"{run['usd']:.4f}")


def usd(amount: float | None) -> str:
    """Format an amount in words; None means that it is never reached."""
    return (
        "never" if amount is None else f"{amount:,.2f} USD" if amount >= 1 else f"{amount:.3g} USD"
    )
