"""Advice as data: the configurations worth considering, the recommended one, and why.

`schemas/output/advice.schema.json` is the shape; `render` prints it for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass
from mlctl.forecast import statistics
from mlctl.forecast.advice import search
from mlctl.forecast.advice.search import Candidate, Wishes
from mlctl.forecast.assumptions import assumption
from mlctl.forecast.batch import report
from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.batch.report import Row
from mlctl.forecast.fields import file_of
from mlctl.forecast.weather.models import Weather
from mlctl.kinds.edit import FieldEdit, edit_of, rewritten
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data, Pointer
from mlctl.source.edit import CannotEdit, Rewrite

if TYPE_CHECKING:
    from mlctl.forecast.shape import EstimateData

SCHEMA = "https://mlctl.dev/schemas/output/advice.schema.json"
_MOST_SHOWN = 8
_NOT_SLOWER = "concurrent mini-batches on a node do not slow each other down"


@dataclass(frozen=True, slots=True)
class Searched:
    """All configurations, those that got all histories, and the rest.

    The first of `tried` is the current one. `over_quota` were not tried: each with what the quota
    allows; `quota` has its source. The price of the places in `without_price` is unknown.
    """

    tried: Sequence[Candidate]
    ranked: Sequence[Candidate]
    over_quota: Sequence[Candidate]
    quota: str
    without_price: Sequence[str] = ()


def document(
    subject: Subject, weather: Weather, searched: Searched, wishes: Wishes, seed: int
) -> dict[str, Data]:
    """Return the front of the configurations with the current one; `recommended` is a row index.

    `margin` is how much cheaper the recommended configuration is than the current one, and than the
    next one, in USD; null if it is the current one, or there is no other.
    """
    now = searched.tried[0]
    keeping = [candidate for candidate in searched.ranked if candidate.keeps]
    best = keeping[0] if keeping else None
    second = keeping[1] if len(keeping) > 1 else None
    rows = _shown(searched.ranked, now, best)
    return {
        "$schema": SCHEMA,
        "seed": seed,
        "deployment": str(subject.deployment.address),
        "cluster": str(subject.cluster.address),
        "weather": weather.name,
        "configurations": len(searched.tried),
        "histories": sum(len(candidate.found) for candidate in searched.tried),
        "jobs_per_month": search.MONTH_S / wishes.every_s,
        "wishes": {
            "deadline_s": wishes.deadline_s,
            "max_cost": wishes.max_cost,
            "max_cancel": wishes.most_cancelled,
        },
        "rows": [_row(candidate) for candidate in rows],
        "options": [_row(candidate) for candidate in _options(searched.tried)],
        "without_price": list(searched.without_price),
        "points": [_point(candidate, rows) for candidate in searched.tried],
        "recommended": None if best is None else _index(best, rows),
        "margin": {
            "now": None if best is None or best is now else _margin(best, now),
            "next": None if best is None or second is None else _margin(best, second),
            "next_settings": None if second is None else dict(second.settings),
        },
        "quota": {
            "source": searched.quota,
            "over": [
                {"settings": dict(candidate.settings), "why": candidate.over_quota}
                for candidate in searched.over_quota
            ],
        },
        "assumptions": [
            *report.all_assumptions(subject, [Row(weather.name, now.study, weather)]),
            assumption("concurrency", subject.scenario.job.concurrency, "A", _NOT_SLOWER),
        ],
    }


def _options(tried: Sequence[Candidate]) -> list[Candidate]:
    """Return the best configuration of each size, region and tier, cheapest first."""
    best: dict[tuple[str, str, Data], Candidate] = {}
    for candidate in search.rank(tried):
        best.setdefault((*candidate.place[:2], candidate.study.scenario.cluster.tier), candidate)
    return list(best.values())


def _margin(best: Candidate, rival: Candidate) -> EstimateData | None:
    margin = search.margin(best, rival)
    return None if margin is None else statistics.as_data(margin)


def _shown(ranked: Sequence[Candidate], now: Candidate, best: Candidate | None) -> list[Candidate]:
    """Return the current and the recommended configuration, and the front, as far as they fit."""
    chosen = [now] if best is None or best is now else [now, best]
    chosen += [
        candidate
        for candidate in search.front(ranked)
        if candidate is not now and candidate is not best
    ]
    return chosen[:_MOST_SHOWN]


def _index(candidate: Candidate, rows: Sequence[Candidate]) -> int | None:
    return next((at for at, row in enumerate(rows) if row is candidate), None)


def _row(candidate: Candidate) -> dict[str, Data]:
    scenario, summary = candidate.study.scenario, candidate.summary.document()
    return {
        "settings": dict(candidate.settings),
        "size": candidate.place.size,
        "region": candidate.place.region,
        "tier": scenario.cluster.tier.value,
        "price": scenario.price,
        "eviction_rate": candidate.place.eviction_rate,
        "nodes": scenario.nodes,
        "mini_batch_size": scenario.job.mini_batch_size,
        "concurrency": scenario.job.concurrency,
        "min_instances": scenario.cluster.min_instances,
        "timeout_s": scenario.job.timeout_s,
        "policy": str(candidate.study.policy),
        "keeps": candidate.keeps,
        "quota_cores": scenario.cluster.cores * scenario.cluster.max_instances,
        "over_quota": candidate.over_quota,
        "runs": summary["runs"],
        "cancelled": summary["cancelled"],
        "failed": summary["failed"],
        "late": summary["late"],
        "cost": summary["cost"]["mean"],
        "until_done": summary["until_done"],
        "between": statistics.mean(candidate.between).value,
        "total": statistics.finite_mean(candidate.totals),
    }


def _point(candidate: Candidate, rows: Sequence[Candidate]) -> dict[str, Data]:
    return {
        "row": _index(candidate, rows),
        "cost": _finite(candidate.cost),
        "time_p95_s": _finite(candidate.p95_s),
        "settings": dict(candidate.settings),
        "runs": len(candidate.found),
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


# Settings that have other names in files.
_FIELDS = {"concurrency": "max_concurrency_per_instance"}


def patch_files(
    subject: Subject, settings: Mapping[str, Data]
) -> tuple[list[Rewrite], dict[str, str]]:
    """Return the new text of each changed file, and why settings were not written."""
    pending: dict[FieldEdit, str] = {}
    unwritten: dict[str, str] = {}
    for name, value in settings.items():
        place = _place(subject, _FIELDS.get(name, name))
        plain = int(value) if isinstance(value, float) else value
        try:
            if place is None:
                unwritten[name] = "no file sets it"
            else:
                pending[edit_of(*place, plain)] = name
        except CannotEdit as error:
            unwritten[name] = str(error)
    rewrites, refused = rewritten(pending)
    unwritten |= {pending[field_edit]: why for field_edit, why in refused}
    return rewrites, unwritten


def _place(subject: Subject, name: str) -> tuple[Resource, Pointer] | None:
    """Return the resource that has a field of that name, and its pointer."""
    for resource in (subject.cluster, subject.deployment):
        if file_of(resource) is None:
            continue
        for field in resource.form.fields:
            if field.at[-1] == name:
                return resource, field.at
    return None
