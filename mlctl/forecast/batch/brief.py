"""The forecast in a plan: a line for each deployment, as declared and as it is now."""

from __future__ import annotations

from collections.abc import Iterable

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
class PlannedDeployment:
    """A deployment as planned, and as it is now (None: it does not exist).

    `why` says why there is no forecast, if there is none.
    """

    address: str
    planned: Subject | None = None
    now: Subject | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class BriefOptions:
    """The weather, the histories (None: as many as needed), and the seed.

    Also the deadline of a job, and what it may cost until then.
    """

    weather: Weather
    runs: int | None = None
    deadline_s: float | None = None
    most_usd: float | None = None
    seed: int = 0


def document(deployments: Iterable[PlannedDeployment], options: BriefOptions) -> dict[str, Data]:
    """Return the lines as data: USD and seconds until the job is done, on its cluster's tier.

    `now` is null if nothing exists, or it cannot be forecast.
    """
    return {
        "weather": options.weather.document(),
        "runs": options.runs or RUNS,
        "seed": options.seed,
        "deployments": [_deployment(deployment, options) for deployment in deployments],
    }


def _deployment(deployment: PlannedDeployment, options: BriefOptions) -> dict[str, Data]:
    planned, why = None, deployment.why or None
    try:
        planned = _line(deployment.planned, options)
    except EngineError as error:
        why = str(error)
    now = _line(deployment.now, options)
    return {
        "deployment": deployment.address,
        "planned": planned,
        "now": now,
        "error": why,
        "misses": list(misses(planned, options.most_usd)) if planned is not None else [],
    }


def _line(subject: Subject | None, options: BriefOptions) -> dict[str, Data] | None:
    if subject is None:
        return None
    scenario, weather = subject.scenario, options.weather
    tier = scenario.cluster.tier
    rows = report.rows(
        scenario, [weather], [tier], [RecoveryPolicy()], str(options.seed), weather.name
    )
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
