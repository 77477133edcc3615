"""The forecast in a plan: a line for each deployment, as declared and as it is now."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.dataclasses import dataclass
from mlctl.forecast.batch import report
from mlctl.forecast.batch.policy import RecoveryPolicy
from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.batch.study import RUNS, histories_until
from mlctl.forecast.batch.summary import misses
from mlctl.forecast.weather.models import Weather
from mlctl.pointer import Data
from mlctl.simulator.engine.commands import EngineError


@dataclass(frozen=True, slots=True)
class BriefOptions:
    """The weather, the histories (None: as many as needed), a job's deadline and highest cost."""

    weather: Weather
    runs: int | None = None
    deadline_s: float | None = None
    most_usd: float | None = None


def document(deployments: Sequence[Data], options: BriefOptions) -> dict[str, Data]:
    """Return the lines of deployments as data."""
    return {
        "weather": options.weather.document(),
        "runs": options.runs or RUNS,
        "seed": 0,
        "deployments": deployments,
    }


def deployment(
    address: str,
    options: BriefOptions,
    subject: Subject | None = None,
    current: Subject | None = None,
    why: str | None = None,
) -> dict[str, Data]:
    """Return the line of a deployment as data: USD and seconds until done, on its cluster's tier.

    `subject` is the deployment as planned, `current` as it is; `why` says why there is no forecast.
    """
    planned = None
    try:
        planned = _line(subject, options)
    except EngineError as error:
        why = str(error)
    return {
        "deployment": address,
        "planned": planned,
        "now": _line(current, options),
        "error": why,
        "misses": list(misses(planned, options.most_usd)) if planned is not None else [],
    }


def _line(subject: Subject | None, options: BriefOptions) -> dict[str, Data] | None:
    if subject is None:
        return None
    scenario, weather = subject.scenario, options.weather
    tier = scenario.cluster.tier
    rows = report.rows(scenario, [weather], [tier], [RecoveryPolicy()], "0", weather.name)
    study = next(rows).study
    histories = histories_until(study, options.runs)
    summary = study.summary(histories, options.deadline_s).document()
    return {
        "cluster": str(subject.cluster.address),
        "tier": tier.value,
        "nodes": scenario.nodes,
        "files": scenario.job.files,
        "cancelled": summary["cancelled"],
        "failed": summary["failed"],
        "late": summary["late"],
        "until_done": summary["until_done"],
    }
