"""A batch forecast as data: rows, sample histories with timelines, a sentence, assumptions.

`schemas/output/forecast.schema.json` is the shape; `render` prints it for people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass, fields, replace
from mlctl.forecast import assumptions, statistics
from mlctl.forecast.assumptions import assumption
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.batch.study import Study
from mlctl.forecast.batch.summary import Summary
from mlctl.forecast.fields import file_of
from mlctl.forecast.history import LONGEST_S, EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.shortcut import history as skip
from mlctl.forecast.weather.models import Weather
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import SubmitBatch
from mlctl.simulator.engine.event_log import LoggedEvent
from mlctl.simulator.engine.model import Tier

if TYPE_CHECKING:
    from mlctl.forecast import shape


# What a node does after an event; None: it is gone.
_STATES = {
    "SCALE_UP": "allocating",
    "RESTORED": "preparing",
    "ALLOCATED": "preparing",
    "READY": "idle",
    "DISPATCH": "running",
    "LAST_SLOT_FREE": "idle",
    "PREEMPT": "lost",
    "LEAVING": "idle",
    "START_FAIL": "lost",
    "LEFT": None,
    "NOT_WANTED": None,
    "RECYCLED": None,
    "RESTORE_EXPIRED": None,
}


def events(scenario: Scenario, seed: str, *, detail: bool = True) -> Iterator[LoggedEvent]:
    """Yield the log of the first run of a history, from its submission on."""
    cloud = EngineCloud(scenario, seed)
    yield from engine.apply(cloud.world, SubmitBatch(scenario.job), detail=detail)
    for event in engine.wait(cloud.world, scenario.job.name, LONGEST_S, detail=detail):
        yield event
        if event.event == "JOB_ENDED":
            return


def timeline(
    row: str, quantile: str, run: int, scenario: Scenario, seed: str
) -> shape.TimelineData:
    """Return what each node did in the first run of a history."""
    log = list(events(scenario, seed, detail=False))
    began = next(event.at for event in log if event.event == "SUBMIT")
    ended = next((event.at for event in log if event.event == "JOB_ENDED"), log[-1].at)
    changes: dict[int, list[tuple[float, str | None]]] = defaultdict(list)
    for event in log:
        number = event.facts.get("node")
        if event.at <= ended and isinstance(number, int) and event.event in _STATES:
            changes[number].append((event.at, _STATES[event.event]))
    nodes: list[shape.NodeData] = []
    for number in sorted(changes):
        spells: list[shape.SpellData] = [
            {"state": state, "from_s": max(begin, began) - began, "to_s": end - began}
            for (begin, state), (end, _) in pairwise([*changes[number], (ended, None)])
            if state is not None and end > max(begin, began)
        ]
        nodes += [{"node": number, "spells": spells}] if spells else []
    seconds = ended - began
    return {"row": row, "quantile": quantile, "run": run, "seconds": seconds, "nodes": nodes}


SCHEMA = "https://mlctl.dev/schemas/output/forecast.schema.json"
DEDICATED = "dedicated"
# Settings that do not affect a batch job on a cluster.
_ELSEWHERE = {"training_auto_restart", "provisioning_s", "reject_excess_instances"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a forecast: a study, named by its weather or tier."""

    name: str
    study: Study
    weather: Weather | None = None

    @property
    def tier(self) -> Tier:
        """The tier of the first run."""
        return self.study.scenario.cluster.tier


def rows(
    scenario: Scenario,
    weathers: Sequence[Weather],
    tiers: Sequence[Tier],
    policies: Sequence[RecoveryPolicy],
    seed: str,
    main: str,
) -> Iterator[Row]:
    """Yield the rows of a forecast: low priority in each weather, then dedicated.

    In the weather `main` there is one for each policy but `dedicated`, which is the last row.
    """
    low = [policy for policy in policies if policy.way is not Way.DEDICATED]
    for weather in weathers if Tier.LOW_PRIORITY in tiers else ():
        for number, policy in enumerate(low):
            if number == 0 or weather.name == main:
                name = weather.name if number == 0 else f"{weather.name}, {policy}"
                yield Row(name, Study(scenario.under(weather.processes()), policy, seed), weather)
    if Tier.DEDICATED in tiers or len(low) < len(policies):
        yield Row(DEDICATED, Study(scenario.dedicated, RecoveryPolicy(Way.DEDICATED), seed))


def document(
    subject: Subject,
    summaries: Sequence[tuple[Row, Summary]],
    main: str,
    seed: int,
    deadline_s: float | None = None,
    tornado: Sequence[shape.SwingData] | None = None,
) -> shape.Forecast:
    """Return the forecast as data; the sentence and the timelines are about the row `main`."""
    row_documents = [_row(row, summary) for row, summary in summaries]
    by_name = {row["name"]: row for row in reversed(row_documents)}
    return {
        "$schema": SCHEMA,
        "seed": seed,
        "deadline_s": deadline_s,
        "scenario": _scenario(subject),
        "rows": row_documents,
        "timelines": list(_timelines(summaries, main)),
        "sensitivity": None if tornado is None else list(tornado),
        "sentence": {
            "row": main if main in by_name else None,
            "low_priority": _said(by_name.get(main)),
            "dedicated": _said(by_name.get(DEDICATED)),
            "rate": _rate(summaries, main),
        },
        "assumptions": list(all_assumptions(subject, [row for row, _ in summaries])),
    }


def _scenario(subject: Subject) -> shape.ScenarioData:
    scenario = subject.scenario
    job, cluster, work = scenario.job, scenario.cluster, scenario.job.workload
    return {
        "deployment": str(subject.deployment.address),
        "cluster": str(subject.cluster.address),
        "tier": cluster.tier.value,
        "size": str(subject.cluster.get("size") or ""),
        "cores": cluster.cores,
        "files": job.files,
        "mini_batch_size": job.mini_batch_size,
        "mini_batches": scenario.mini_batches,
        "nodes": scenario.nodes,
        "concurrency": job.concurrency,
        "seconds_per_file": work.per_file_s,
        "seconds_per_mini_batch": work.per_mini_batch_s,
        "cv": work.cv,
        "fail_probability": work.fail_probability,
        "price": scenario.price_of(Tier.DEDICATED),
        "low_priority_price": scenario.price_of(Tier.LOW_PRIORITY),
    }


def _row(row: Row, summary: Summary) -> shape.RowData:
    why = skip.obstacle(row.study.scenario)
    return {
        "name": row.name,
        "tier": row.tier.value,
        "weather": row.weather.document() if row.weather is not None else None,
        "policy": str(row.study.policy),
        "path": "engine" if why else "skip",
        "path_reason": why,
        **summary.document(),
    }


def _timelines(summaries: Sequence[tuple[Row, Summary]], main: str) -> Iterator[shape.TimelineData]:
    for row, summary in summaries:
        if row.name != main:
            continue
        for name, q in (("p50", 0.5), ("p95", 0.95)):
            run = summary.nearest(q)
            if run is not None:
                study = row.study
                yield timeline(row.name, name, run, study.scenario, study.seed_of(run))


def _rate(summaries: Sequence[tuple[Row, Summary]], main: str) -> shape.RateData | None:
    """Return the Spot price of the main row, with what the same histories cost at its ends."""
    row, summary = next(
        ((row, summary) for row, summary in summaries if row.name == main), (None, None)
    )
    rate = row.study.scenario.spot_rate if row is not None else None
    if row is None or summary is None or rate is None:
        return None
    ends: list[shape.RateEndData] = []
    for usd in rate.ends or ():
        study = replace(row.study, scenario=replace(row.study.scenario, low_priority_price=usd))
        mean = statistics.finite_mean(study.summary(list(summary.histories)).costs_until_done)
        ends.append({"usd": usd, "cost": None if mean is None else mean["value"]})
    low, high = ends or (None, None)
    return {"usd": rate.usd, "as_of": rate.as_of, "low": low, "high": high}


def _said(row: shape.RowData | None) -> shape.OutlookData | None:
    """Return a row's numbers in the sentence."""
    if row is None:
        return None
    until_done = row["until_done"]
    return {
        "time_s": _value(until_done["time_s"]),
        "time_p95_s": _value(until_done["time_p95_s"]),
        "cost": _value(until_done["cost"]),
        "cancelled": row["cancelled"],
        "late": row["late"],
        "not_done": until_done["not_done"],
        "p_not_done": until_done["p_not_done"],
        "spent": until_done["spent"],
    }


def _value(estimate: shape.EstimateData | None) -> float | None:
    return None if estimate is None else estimate["value"]


def all_assumptions(subject: Subject, rows_: Sequence[Row]) -> Iterator[shape.AssumptionData]:
    """Yield the assumptions of the forecast, by source."""
    scenario = subject.scenario
    yield from origins(subject)
    yield from assumptions.of_weathers(row.weather for row in rows_ if row.weather is not None)
    policy = next((row.study.policy for row in rows_ if row.weather is not None), None)
    if policy is not None:
        yield assumption("policy", str(policy), "A", policy.meaning)
        if policy.shards:
            yield assumption(
                "shards",
                str(policy.shards),
                "A",
                "so many jobs in turn; a lost run only loses its part",
            )
    yield from assumptions.of_prices(scenario)
    names = {field.name for field in fields(scenario.settings)}
    yield from assumptions.of_settings(scenario.settings, names - _ELSEWHERE)


def origins(subject: Subject) -> Iterator[shape.AssumptionData]:
    """Yield where the deployment and the cluster come from."""
    for name, resource in (("deployment", subject.deployment), ("cluster", subject.cluster)):
        file = file_of(resource)
        why = f"as in {file}" if file is not None else f"as it is in {subject.workspace}"
        source = "F" if file is not None else "W"
        yield assumption(name, str(resource.address), source, why)
