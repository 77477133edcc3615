"""`mlctl plan --simulate`: a forecast of the deployments that a plan creates or changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.forecast.args import MOST_RUNS, WEATHER, SubjectArgs
from mlctl.cli.local.flags import BatchFlags, weather_of
from mlctl.cli.shell import Session, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.config.graph import Graph
from mlctl.dataclasses import dataclass, replace
from mlctl.kinds import Address, kind_of
from mlctl.planning.model import Action, Plan

if TYPE_CHECKING:
    from mlctl.forecast.batch.brief import BriefOptions
    from mlctl.forecast.batch.reading import Wanted

_flag = partial(flag, panel="Forecast Arguments")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanForecastArgs:
    """What to forecast of the plan, and the work of a job; None if not given."""

    simulate: bool = _flag(default=False)
    mini_batches: int | None = _flag(min=1, metavar="N")
    input: str | None = _flag(metavar="DIR")
    deadline: str | None = _flag(metavar="DURATION")
    max_cost: float | None = _flag(min=0, metavar="USD")
    weather: str | None = _flag(metavar="NAME")
    runs: int | None = _flag(min=1, max=MOST_RUNS, metavar="N")


@dataclass(frozen=True)
class PlanForecast:
    """A forecast at the end of `plan --simulate`."""

    args: PlanForecastArgs
    request: Wanted

    @classmethod
    def of(
        cls, session: Session, args: PlanForecastArgs, work: BatchFlags, *, destroying: bool
    ) -> PlanForecast | None:
        """Read the flags; None if they ask for no forecast."""
        if not args.simulate:
            flags = [
                name
                for record in (args, work)
                for name in record.__slots__
                if getattr(record, name)
            ]
            if flags:
                flag = f"--{flags[0].replace('_', '-')}"
                raise UsageError(f"{flag} is about a forecast: add --simulate.")
            return None
        if destroying:
            raise UsageError("--simulate and --destroy exclude each other.")
        from mlctl.cli.forecast.subject import read_wanted
        from mlctl.simulator.engine.model import SimulationSettings

        subject = SubjectArgs(mini_batches=args.mini_batches, input=args.input)
        request = read_wanted(session, subject, work, SimulationSettings())
        if request.workload.files is None and request.mini_batches is None:
            raise UsageError("--simulate needs --files N, --mini-batches N or --input DIR.")
        if not any((work.seconds_per_file, work.seconds_per_mini_batch, work.trace)):
            raise UsageError("--simulate needs --seconds-per-file S or --seconds-per-mini-batch S.")
        return cls(args, request)

    def document(self, plan: Plan, graph: Graph, backend: Backend) -> dict[str, Any]:
        """Return the forecast as data; the backend is read for the current state."""
        from mlctl.forecast.batch import brief

        args = self.args
        deadline_s = None if args.deadline is None else duration(args.deadline)
        options = brief.BriefOptions(
            weather_of(args.weather or WEATHER), args.runs, deadline_s, args.max_cost
        )
        deployments = [
            self._deployment(address, plan, graph, backend, options)
            for address in _changed_deployments(plan, graph)
        ]
        return brief.document(deployments, options)

    def _deployment(
        self, address: Address, plan: Plan, graph: Graph, backend: Backend, options: BriefOptions
    ) -> dict[str, Any]:
        from mlctl.cli.forecast.subject import with_live
        from mlctl.forecast.batch import brief
        from mlctl.forecast.batch.reading import read
        from mlctl.forecast.fields import ForecastError

        stated = replace(self.request.prices, region=plan.location or self.request.prices.region)
        request = replace(
            self.request, deployment=address, workspace=str(plan.scope), prices=stated
        )
        try:
            planned = read(with_live(graph, backend, address), request)
        except ForecastError as error:
            return brief.deployment(str(address), options, why=str(error))
        current = None
        with suppress(ForecastError):
            current = read(with_live(Graph({}, ()), backend, address), request)
        return brief.deployment(str(address), options, planned, current)


def _changed_deployments(plan: Plan, graph: Graph) -> Iterator[Address]:
    """Find the deployments that score files and change, or whose cluster does."""
    from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT

    written = {item.address for item in plan.pending if item.action is not Action.DELETE}
    for change in plan.changes:
        resource = change.resource
        if resource is None or resource.kind is not BATCH_DEPLOYMENT:
            continue
        targets = {item.target for item in graph.edges_of(change.address)}
        scores = any(item.at[-1] == "mini_batch_size" for item in resource.form.fields)
        clusters = {item for item in targets if kind_of(item).quota.has_nodes}
        if scores and ({change.address} | clusters) & written:
            yield change.address


def is_refused(session: Session, data: dict[str, Any]) -> bool:
    """Report which limits the planned deployments exceed; whether there are any."""
    from mlctl.cli.forecast import args

    reasons = [
        f"{deployment['deployment']}: {why}"
        for deployment in data["deployments"]
        for why in deployment["misses"]
    ]
    return args.is_refused(session, *reasons)


def show(session: Session, data: dict[str, Any], *, markdown: bool) -> None:
    """Print the forecast on stdout, after its plan."""
    from mlctl.render.forecast import of_plan as render

    color = session.color(sys.stdout)
    text = render.markdown(data) if markdown else render.human(data, color=color)
    session.out(f"\n{text}")
