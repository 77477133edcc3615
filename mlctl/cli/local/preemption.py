"""`mlctl local preemption | capacity | preempt | lock`: what the nodes of clusters meet with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mlctl.cli.exits import Exit
from mlctl.cli.local import workload_flags
from mlctl.cli.local.cloud import opened
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.command import add, command, option, switch
from mlctl.cli.session import Session
from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.simulator.engine.processes import CapacityProcess, PreemptionProcess

_T = TypeVar("_T")
_TRACE = '{"metadata": {"gap_seconds": S}, "data": [nodes available, ...]}'
# The bands in which Azure publishes hourly eviction rates (Azure Resource Graph, SpotResources,
# skuspotevictionrate), and the rate in the middle of each; of the last, 25 %.
_BANDS = {"0-5": 0.025, "5-10": 0.075, "10-15": 0.125, "15-20": 0.175, "20+": 0.25}
_TIERS = ("dedicated", "low_priority")


def register(app: typer.Typer) -> None:
    """Add these commands to those of `mlctl local`."""
    preemption = typer.Typer(help="What takes low-priority nodes away.")
    add(preemption, "set", preemption_set, _PREEMPTION, _PREEMPTION_TEXT)
    app.add_typer(preemption, name="preemption")
    capacity = typer.Typer(help="How many nodes a region has.")
    add(capacity, "set", capacity_set, _CAPACITY, _CAPACITY_TEXT)
    app.add_typer(capacity, name="capacity")
    command(app, "preempt")(preempt)
    command(app, "lock")(lock)


_PREEMPTION = (
    option("poisson", "--poisson", metavar="PER_NODE_HOUR", help="Each node, whatever its age."),
    option(
        "eviction_rate",
        "--eviction-rate",
        metavar="BAND",
        help="Each node, as a band of Azure's eviction rates says, in percent an hour.",
        choices=tuple(_BANDS),
    ),
    option(
        "shock",
        "--shock",
        metavar="PER_HOUR,FRACTION",
        help="Drops of capacity, which each node that is up falls to with this probability.",
    ),
    option(
        "hyper_exponential",
        "--hyper-exponential",
        metavar="PER_NODE_HOUR,CV",
        help="Lives of this spread: a coefficient of variation of 1 or more.",
    ),
    option(
        "weibull",
        "--weibull",
        metavar="PER_NODE_HOUR,SHAPE",
        help="With a shape below 1, nodes that have lived long live longer.",
    ),
    option("trace", "--trace", metavar="FILE", help=f"How many nodes there are: {_TRACE}."),
    option("offset", "--offset", type_=int, metavar="N", help="Where the trace begins.", default=0),
    option(
        "script",
        "--script",
        metavar="FILE",
        help='Exact losses: [[seconds, node index or "all"], ...].',
    ),
    switch("none", "--none", help="Nothing takes nodes away."),
)
_PROCESSES = [one for one in _PREEMPTION if one.name not in ("offset", "none")]
_PREEMPTION_TEXT = (
    "Set what takes low-priority nodes away, in the place of what did so far; several combine.\n\n"
    "Times of scripts and traces count from now. Dedicated nodes are never preempted."
)
_CAPACITY = (
    option("nodes", "--nodes", type_=int | None, metavar="N", help="As many nodes, always."),
    option(
        "outages",
        "--outages",
        metavar="PER_HOUR,SECONDS",
        help="Times without any node, at random, of this mean length; --nodes between them.",
    ),
    option("trace", "--trace", metavar="FILE", help=f"As many as {_TRACE}."),
    option(
        "script",
        "--script",
        metavar="FILE",
        help="As many as [[seconds, nodes from then on], ...].",
    ),
    switch("none", "--none", help="As many as anybody asks for."),
    option("tier", "--tier", help="Of this tier; of each unless given.", choices=_TIERS),
)
_CAPACITY_TEXT = (
    "Set how many nodes every region has, for all its clusters together.\n\n"
    "A cluster that finds none waits for one. Dedicated nodes are never taken away."
)


def preemption_set(session: Session, **words: Any) -> Exit:
    """Set what takes low-priority nodes away."""
    from mlctl.simulator.control_plane import disruptions

    found = _preemption(words)
    if words["none"] == any(words[one.name] is not None for one in _PROCESSES):
        raise UsageError("say what takes nodes away, or --none, which goes with nothing else.")
    with opened(session) as cloud:
        disruptions.set_preemption(cloud.handle, tuple(found))
    return Exit.OK


def capacity_set(session: Session, **words: Any) -> Exit:
    """Set how many nodes there are."""
    from mlctl.simulator.control_plane import disruptions
    from mlctl.simulator.engine.model import Tier

    found = _capacity(words)
    if len(found) + words["none"] != 1:
        raise UsageError("say one of --nodes, --outages, --trace, --script and --none.")
    if words["tier"] not in (None, *_TIERS):
        raise UsageError(f"argument --tier: `{words['tier']}` is none of {', '.join(_TIERS)}.")
    tier = Tier(words["tier"]) if words["tier"] else None
    with opened(session) as cloud:
        disruptions.set_capacity(cloud.handle, found[0] if found else None, tier)
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


def _preemption(words: Mapping[str, Any]) -> list[PreemptionProcess]:
    from mlctl.simulator.engine import processes, traces

    found: list[PreemptionProcess] = []
    if words["poisson"] is not None:
        found.append(processes.Poisson(*_numbers(words, "poisson", 1)))
    if words["eviction_rate"] is not None:
        found.append(processes.Poisson(processes.eviction_rate(_band(words["eviction_rate"]))))
    if words["shock"] is not None:
        found.append(processes.Shock(*_numbers(words, "shock", 2)))
    if words["hyper_exponential"] is not None:
        found.append(processes.HyperExponential(*_numbers(words, "hyper_exponential", 2)))
    if words["weibull"] is not None:
        found.append(processes.Weibull(*_numbers(words, "weibull", 2)))
    if words["trace"] is not None:
        offset = words["offset"]
        found.append(_parsed(words["trace"], lambda text: traces.trace(text, offset)))
    if words["script"] is not None:
        found.append(_parsed(words["script"], traces.script))
    return [one for one in found if not _is_never(one)]


def _is_never(process: PreemptionProcess) -> bool:
    """A rate of 0 is no process: nothing ever comes of it."""
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


def _capacity(words: Mapping[str, Any]) -> list[CapacityProcess]:
    from mlctl.simulator.engine import processes, traces

    found: list[CapacityProcess] = []
    if words["outages"] is not None:
        rate, mean = _numbers(words, "outages", 2)
        found.append(processes.OnOff(rate, mean, words["nodes"]))
    elif words["nodes"] is not None:
        found.append(processes.Constant(words["nodes"]))
    if words["trace"] is not None:
        found.append(_parsed(words["trace"], traces.trace))
    if words["script"] is not None:
        found.append(_parsed(words["script"], traces.steps))
    return found


def _parsed(file: str, parse: Callable[[str], _T]) -> _T:
    """What a file says.

    Raises:
        Permanent: it cannot be read, or is not of that shape.
    """
    from mlctl.simulator.engine.commands import EngineError

    text = workload_flags.text_of(Path(file))
    try:
        return parse(text)
    except EngineError as refused:
        raise Permanent("InvalidFile", f"`{file}`: {refused}") from None


def _numbers(words: Mapping[str, Any], name: str, count: int) -> list[float]:
    """`0.05,0.6` to its numbers."""
    text = str(words[name])
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        shape = "a number" if count == 1 else f"{count} numbers with a comma between them"
        raise UsageError(f"argument --{name.replace('_', '-')}: `{text}` is not {shape}.")
    return numbers
