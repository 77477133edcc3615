"""Advice as data: the configurations that are worth looking at, the recommended one, and why."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.forecast import search
from mlctl.forecast.reading import Subject
from mlctl.forecast.search import Candidate, Wishes
from mlctl.forecast.summary import estimate
from mlctl.pointer import Data


def document(
    subject: Subject,
    weather: str,
    field: Sequence[Candidate],
    ranked: Sequence[Candidate],
    wishes: Wishes,
) -> dict[str, Data]:
    """The front of the configurations, with what there is now; `recommended` is an index of rows.

    `margin` says by how much the recommended configuration is cheaper than what there is, and than
    the next one, in USD until done; null where it is what there is, or where there is no other.
    """
    now = field[0]
    keeping = [one for one in ranked if one.keeps(wishes)]
    best = keeping[0] if keeping else None
    shown = [one for one in search.front(ranked) if one is not now and one is not best]
    rows = [now, *([best] if best is not None and best is not now else []), *shown]
    rows = rows[:8]
    second = keeping[1] if len(keeping) > 1 else None
    return {
        "deployment": str(subject.deployment.address),
        "cluster": str(subject.cluster.address),
        "weather": weather,
        "configurations": len(field),
        "histories": sum(len(one.found) for one in field),
        "wishes": {
            "deadline_s": wishes.deadline_s,
            "budget": wishes.budget,
            "max_cancel": wishes.most_cancelled,
        },
        "rows": [_row(one, wishes) for one in rows],
        "recommended": None
        if best is None
        else next(at for at, one in enumerate(rows) if one is best),
        "margin": {
            "now": None if best is None or best is now else _margin(best, now),
            "next": None if best is None or second is None else _margin(best, second),
            "next_settings": None if second is None else dict(second.settings),
        },
    }


def _margin(best: Candidate, other: Candidate) -> dict[str, Data] | None:
    count = min(len(best.found), len(other.found))
    pair = [Candidate(one.settings, one.study, one.found[:count]) for one in (best, other)]
    return estimate(search.margin(*pair))


def _row(one: Candidate, wishes: Wishes) -> dict[str, Data]:
    scenario, told = one.study.scenario, one.summary(wishes).document()
    return {
        "settings": dict(one.settings),
        "tier": scenario.cluster.tier.value,
        "nodes": scenario.nodes,
        "mini_batch_size": scenario.job.mini_batch_size,
        "policy": str(one.study.policy),
        "keeps": one.keeps(wishes),
        "quota_cores": scenario.cluster.cores * scenario.cluster.max_instances,
        "runs": told["runs"],
        "cancelled": told["cancelled"],
        "late": told["late"],
        "cost": told["cost"]["mean"],
        "until_done": told["until_done"],
    }
