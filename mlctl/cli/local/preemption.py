"""`mlctl local preemption | preempt | lock`: what takes nodes away, here and in a real cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files
from mlctl.cli.local import flags
from mlctl.cli.local.cloud import open_cloud
from mlctl.cli.shell import Session, UsageError, argument, flag
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.dataclasses import dataclass, replace
from mlctl.kinds import Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.forecast.statistics import Estimate
    from mlctl.forecast.weather.fit import Fit
    from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess


def _bands() -> list[str]:
    from mlctl.forecast.weather import models as weather

    return [*weather.BANDS]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionArgs:
    """The processes that take nodes away; `offset` is the trace's."""

    weather: str | None = flag(metavar="NAME", suggest=flags.weathers)
    start: list[str] | None = flag(metavar="WHEN", suggest=flags.MOMENTS)
    poisson: str | None = flag(metavar="PER_NODE_HOUR")
    eviction_rate: str | None = flag(metavar="BAND", suggest=_bands)
    shock: str | None = flag(metavar="PER_HOUR,FRACTION")
    hyper_exponential: str | None = flag(metavar="PER_NODE_HOUR,CV")
    weibull: str | None = flag(metavar="PER_NODE_HOUR,SHAPE")
    bathtub: str | None = flag(metavar="A,T1,T2,B")
    trace: str | None = flag(metavar="FILE")
    offset: int | None = flag(metavar="N")
    script: str | None = flag(metavar="FILE")
    none: bool = flag(default=False)

    @property
    def any_process(self) -> bool:
        """Whether a process is given."""
        rates = (self.poisson, self.eviction_rate, self.shock, self.hyper_exponential, self.weibull)
        files = (self.weather, self.bathtub, self.trace, self.script)
        return any(value is not None for value in (*rates, *files))


def preemption_set(session: Session, args: PreemptionArgs) -> None:
    """Set how low-priority nodes are preempted, replacing earlier settings; flags combine."""
    from mlctl.simulator.control_plane import disruptions

    if args.none == args.any_process:
        raise UsageError("say what takes nodes away, or use --none alone.")
    if args.trace is None and args.offset is not None:
        raise UsageError("--offset needs a --trace.")
    if args.start is not None and args.weather is None and args.trace is None:
        raise UsageError("--start needs a --weather or a --trace.")
    start_s, start = flags.start_of(args.start or ())
    if args.offset is not None and start is not None:
        raise UsageError("--offset and --start exclude each other.")
    processes = _preemption(args, start_s or 0.0)
    with open_cloud(session) as cloud:
        disruptions.set_preemption(cloud.handle, tuple(processes), start=start)


def preemption_show(session: Session, output: Output = "table", query: Query = None) -> None:
    """Show how low-priority nodes are preempted at present."""
    from mlctl.simulator.control_plane import disruptions

    with open_cloud(session) as cloud:
        processes = disruptions.preemption(cloud.handle) or ["none"]
        data: list[Data] = [{"preemption": process} for process in processes]
        print_data(session, data, output, query)


def preempt(
    session: Session,
    cluster: str = argument(metavar="CLUSTER"),
    nodes: int | None = flag(min=1, metavar="N"),
    every: bool = flag("--all", default=False),
) -> None:
    """Preempt nodes of a low-priority cluster now."""
    from mlctl.simulator.control_plane import disruptions

    if every and nodes is not None:
        raise UsageError("--nodes and --all exclude each other.")
    with open_cloud(session) as cloud:
        lost_nodes = disruptions.preempt(
            cloud.handle, Address("compute", cluster), None if every else nodes or 1
        )
        session.note(f"{lost_nodes} preempted")


def lock(
    session: Session,
    clusters: list[str] | None = argument(default=None, metavar="CLUSTER"),
    remove: bool = flag(default=False),
) -> None:
    """Lock clusters with a resource lock: they cannot scale or be deleted ("resizing (0 -> 0)")."""
    from mlctl.simulator.control_plane import disruptions

    with open_cloud(session) as cloud:
        addresses = [Address("compute", name) for name in clusters or []]
        changed = disruptions.lock(cloud.handle, addresses, locked=not remove)
        session.note(f"{len(changed)} {'unlocked' if remove else 'locked'}")
        if len(changed) < len(addresses):
            session.note("locks on a higher level still apply: see `mlctl local status`")


def _preemption(args: PreemptionArgs, start_s: float) -> list[PreemptionProcess]:
    from mlctl.forecast.weather import models as weather
    from mlctl.simulator.engine import processes, traces

    processes_: list[PreemptionProcess] = []
    if args.weather is not None:
        model = flags.weather_of(args.weather)
        if model.trace is not None:
            raise UsageError(f"`{args.weather}` is a trace: use --trace.")
        processes_.extend(replace(model, start_s=start_s, available=True).processes())
    if args.eviction_rate is not None:
        try:
            chance = weather.band(args.eviction_rate)
        except weather.WeatherError as error:
            raise UsageError(f"argument --eviction-rate: {error}.") from None
        processes_.append(processes.Poisson(processes.eviction_rate(chance)))
    makers: tuple[tuple[str, int, Callable[..., PreemptionProcess]], ...] = (
        ("poisson", 1, processes.Poisson),
        ("shock", 2, processes.Shock),
        ("hyper_exponential", 2, processes.HyperExponential),
        ("weibull", 2, processes.Weibull),
        ("bathtub", 4, processes.Bathtub),
    )
    for name, count, make in makers:
        text = getattr(args, name)
        if text is not None:
            processes_.append(
                make(*flags.parse_numbers(text, f"--{name.replace('_', '-')}", count))
            )
    if args.trace is not None:
        processes_.append(
            flags.parse_file(args.trace, lambda text: traces.trace(text, args.offset or 0))
        )
    if args.script is not None:
        processes_.append(flags.parse_file(args.script, traces.script))
    return processes_


def preemption_fit(
    session: Session,
    source: Path = flag("--from", default=..., metavar="FILE"),
    cores_per_node: int | None = flag(min=1, metavar="N"),
    out: Path | None = flag("-o", metavar="FILE"),
) -> None:
    """Fit a preemption pattern to the metrics of a cluster, by maximum likelihood."""
    from mlctl.forecast.weather import fit

    try:
        losses = fit.read(flags.read_text(source), cores_per_node=cores_per_node)
        fitted = fit.fit(losses)
    except fit.FitError as error:
        raise Permanent("InvalidMetrics", f"`{source}`: {error}") from None
    for line in _lines(fitted):
        session.out(line + "\n")
    if fitted.unlike:
        session.note(
            f"warning: the halves of the time are not alike: {', '.join(fitted.unlike)}. What was"
            " fitted may not hold for the time to come."
        )
    if out is not None:
        weather = fitted.weather(source.stem, f"fitted to {source.name}").document()
        text = json.dumps({**weather, "fit": _document(fitted)}, indent=2) + "\n"
        try:
            files.write(out, text.encode())
        except OSError as error:
            raise Permanent("CannotWrite", f"cannot write `{out}`: {error.strerror}") from None
        session.note(f"wrote {out}")


def _lines(fitted: Fit) -> Iterator[str]:
    losses = fitted.losses
    yield f"{losses.lost} nodes lost in {losses.node_hours:,.1f} node-hours"
    yield f"rate      {_text(fitted.rate)} an hour, each node on its own"
    if fitted.outages is not None and fitted.outage_h is not None:
        spread = f", log-normal, cv {fitted.outage_cv:.2f}" if fitted.outage_cv else ", exponential"
        yield f"outages   {_text(fitted.outages)} an hour with nodes"
        yield f"length    {_text(fitted.outage_h)} hours without any{spread}"
    if fitted.shocks is None or fitted.fraction is None:
        yield "Losses come one by one: there is no sign that they come together."
        return
    yield f"shocks    {_text(fitted.shocks)} an hour"
    yield f"fraction  {_text(fitted.fraction)} of the nodes that are up fall to one"
    chance = "p < 0.000001" if fitted.chance < _LEAST_CHANCE else f"p = {fitted.chance:.2g}"
    yield (
        f"Losses come together: without shocks these metrics are {fitted.gain:,.0f} log-units less"
        f" likely ({chance})."
    )


def _text(estimate: Estimate) -> str:
    return f"{estimate.value:.4f}  (95 %: {estimate.low:.4f} to {estimate.high:.4f})"


def _document(fitted: Fit) -> dict[str, object]:
    parts = {
        "rate": fitted.rate,
        "shocks": fitted.shocks,
        "fraction": fitted.fraction,
        "outages": fitted.outages,
        "outage_h": fitted.outage_h,
    }
    intervals = {
        name: [estimate.low, estimate.high]
        for name, estimate in parts.items()
        if estimate is not None
    }
    return {
        "intervals_95": intervals,
        "log_likelihood_gain": fitted.gain,
        "unlike_halves": list(fitted.unlike),
    }


_LEAST_CHANCE = 1e-6  # below this, a chance is not written out
_TIERS = ("dedicated", "low_priority")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityArgs:
    """The process that says how many nodes exist; `nodes` goes with `outages` too."""

    nodes: int | None = flag(metavar="N")
    outages: str | None = flag(metavar="PER_HOUR,SECONDS")
    outage_cv: float | None = flag(metavar="X")
    trace: str | None = flag(metavar="FILE")
    script: str | None = flag(metavar="FILE")
    none: bool = flag(default=False)
    tier: str | None = flag(suggest=_TIERS)


def capacity_set(session: Session, args: CapacityArgs) -> None:
    """Set how many nodes each region has, for all its clusters together."""
    from mlctl.simulator.control_plane import disruptions
    from mlctl.simulator.engine.model import Tier

    if args.outage_cv is not None and args.outages is None:
        raise UsageError("--outage-cv needs --outages.")
    processes = _capacity(args)
    if len(processes) + args.none != 1:
        raise UsageError("give one of --nodes, --outages, --trace, --script and --none.")
    if args.tier not in (None, *_TIERS):
        raise UsageError(f"argument --tier: `{args.tier}` is not one of {', '.join(_TIERS)}.")
    tier = Tier(args.tier) if args.tier else None
    with open_cloud(session) as cloud:
        disruptions.set_capacity(cloud.handle, processes[0] if processes else None, tier)


def capacity_show(session: Session, output: Output = "table", query: Query = None) -> None:
    """Show how many nodes each region has now, by tier."""
    from mlctl.simulator.control_plane import disruptions

    with open_cloud(session) as cloud:
        processes = disruptions.capacity(cloud.handle)
        data: list[Data] = [{"tier": tier.value, "nodes": text} for tier, text in processes.items()]
        print_data(session, data, output, query)


def _capacity(args: CapacityArgs) -> list[CapacityProcess]:
    from mlctl.simulator.engine import processes, traces

    processes_: list[CapacityProcess] = []
    if args.outages is not None:
        rate, mean = flags.parse_numbers(args.outages, "--outages", 2)
        processes_.append(processes.OnOff(rate, mean, args.nodes, args.outage_cv))
    elif args.nodes is not None:
        processes_.append(processes.Constant(args.nodes))
    if args.trace is not None:
        processes_.append(flags.parse_file(args.trace, traces.trace))
    if args.script is not None:
        processes_.append(flags.parse_file(args.script, traces.steps))
    return processes_
