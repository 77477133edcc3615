"""`mlctl local preemption | preempt | lock`: what takes nodes of clusters away, or holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlctl.cli.exits import Exit
from mlctl.cli.local.cloud import opened
from mlctl.cli.local.flag_text import parse_file, parse_numbers
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.command import command
from mlctl.cli.session import Session
from mlctl.kinds.address import Address

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.simulator.engine.processes import PreemptionProcess

TRACE_SHAPE = '{"metadata": {"gap_seconds": S}, "data": [nodes available, ...]}'
# The bands in which Azure publishes hourly eviction rates (Azure Resource Graph, SpotResources,
# skuspotevictionrate), and the rate in the middle of each; of the last, 25 %.
_BANDS = {"0-5": 0.025, "5-10": 0.075, "10-15": 0.125, "15-20": 0.175, "20+": 0.25}


def register(app: typer.Typer) -> None:
    """Add these commands to those of `mlctl local`."""
    preemption = typer.Typer(help="What takes low-priority nodes away.")
    command(preemption, "set")(preemption_set)
    app.add_typer(preemption, name="preemption")
    command(app, "preempt")(preempt)
    command(app, "lock")(lock)


def _flag(name: str, metavar: str, help: str) -> Any:  # noqa: A002  # typer's word
    return typer.Option(name, metavar=metavar, help=help)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionArgs:
    """The processes that take nodes away; `offset` is the trace's."""

    poisson: Annotated[
        str | None, _flag("--poisson", "PER_NODE_HOUR", "Each node, whatever its age.")
    ] = None
    eviction_rate: Annotated[
        str | None,
        typer.Option(
            "--eviction-rate",
            metavar="BAND",
            help="Each node, as a band of Azure's eviction rates says, in percent an hour.",
            autocompletion=lambda: [*_BANDS],
        ),
    ] = None
    shock: Annotated[
        str | None,
        _flag(
            "--shock",
            "PER_HOUR,FRACTION",
            "Drops of capacity, which each node that is up falls to with this probability.",
        ),
    ] = None
    hyper_exponential: Annotated[
        str | None,
        _flag(
            "--hyper-exponential",
            "PER_NODE_HOUR,CV",
            "Lives of this spread: a coefficient of variation of 1 or more.",
        ),
    ] = None
    weibull: Annotated[
        str | None,
        _flag(
            "--weibull",
            "PER_NODE_HOUR,SHAPE",
            "With a shape below 1, nodes that have lived long live longer.",
        ),
    ] = None
    trace: Annotated[
        str | None, _flag("--trace", "FILE", f"How many nodes there are: {TRACE_SHAPE}.")
    ] = None
    offset: Annotated[int, _flag("--offset", "N", "Where the trace begins.")] = 0
    script: Annotated[
        str | None,
        _flag("--script", "FILE", 'Exact losses: [[seconds, node index or "all"], ...].'),
    ] = None
    none: Annotated[bool, typer.Option("--none", help="Nothing takes nodes away.")] = False

    @property
    def any_process(self) -> bool:
        """Whether a process is given."""
        rates = (self.poisson, self.eviction_rate, self.shock, self.hyper_exponential, self.weibull)
        return any(one is not None for one in (*rates, self.trace, self.script))


def preemption_set(session: Session, args: PreemptionArgs) -> Exit:
    """Set what takes low-priority nodes away, in the place of what did so far; several combine.

    Times of scripts and traces count from now. Dedicated nodes are never preempted.
    """
    from mlctl.simulator.control_plane import disruptions

    found = _preemption(args)
    if args.none == args.any_process:
        raise UsageError("say what takes nodes away, or --none, which goes with nothing else.")
    with opened(session) as cloud:
        disruptions.set_preemption(cloud.handle, tuple(found))
    return Exit.OK


def preempt(
    session: Session,
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")],
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, metavar="N", help="How many; 1 unless given.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are up.")] = False,
) -> Exit:
    """Take nodes of a low-priority cluster away, now."""
    from mlctl.simulator.control_plane import disruptions

    if every and nodes is not None:
        raise UsageError("--nodes and --all exclude each other.")
    with opened(session) as cloud:
        gone = disruptions.preempt(
            cloud.handle, Address("compute", cluster), None if every else nodes or 1
        )
        session.note(f"{gone} preempted")
    return Exit.OK


def lock(
    session: Session,
    clusters: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLUSTER", help="Names; every cluster unless given."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the lock away.")] = False,
) -> Exit:
    """Put a resource lock on clusters: they cannot scale or be deleted ("resizing (0 -> 0)")."""
    from mlctl.simulator.control_plane import disruptions

    with opened(session) as cloud:
        wanted = [Address("compute", name) for name in clusters or []]
        done = disruptions.lock(cloud.handle, wanted, locked=not remove)
        session.note(f"{len(done)} {'unlocked' if remove else 'locked'}")
        if len(done) < len(wanted):
            session.note("locks above the others hold them: see `mlctl local status`")
    return Exit.OK


def _preemption(args: PreemptionArgs) -> list[PreemptionProcess]:
    from mlctl.simulator.engine import processes, traces

    found: list[PreemptionProcess] = []
    if args.poisson is not None:
        found.append(processes.Poisson(*parse_numbers(args.poisson, "--poisson", 1)))
    if args.eviction_rate is not None:
        found.append(processes.Poisson(processes.eviction_rate(_band(args.eviction_rate))))
    if args.shock is not None:
        found.append(processes.Shock(*parse_numbers(args.shock, "--shock", 2)))
    if args.hyper_exponential is not None:
        numbers = parse_numbers(args.hyper_exponential, "--hyper-exponential", 2)
        found.append(processes.HyperExponential(*numbers))
    if args.weibull is not None:
        found.append(processes.Weibull(*parse_numbers(args.weibull, "--weibull", 2)))
    if args.trace is not None:
        found.append(parse_file(args.trace, lambda text: traces.trace(text, args.offset)))
    if args.script is not None:
        found.append(parse_file(args.script, traces.script))
    return [one for one in found if not _is_never(one)]


def _is_never(process: PreemptionProcess) -> bool:
    """Whether the process has a rate of 0, and so never takes a node."""
    from mlctl.simulator.engine.processes import Poisson, Shock

    match process:
        case Poisson(rate):
            return rate == 0
        case Shock(rate, fraction):
            return rate == 0 and 0 <= fraction <= 1
        case _:
            return False


def _band(text: str) -> float:
    if text not in _BANDS:
        raise UsageError(f"argument --eviction-rate: `{text}` is none of {', '.join(_BANDS)}.")
    return _BANDS[text]
