"""`mlctl local capacity`: how many nodes a region has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlctl.cli.local.cloud import opened
from mlctl.cli.local.flag_text import parse_file, parse_numbers
from mlctl.cli.local.preemption import TRACE_SHAPE
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.simulator.engine.processes import CapacityProcess

_TIERS = ("dedicated", "low_priority")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityArgs:
    """The process that says how many nodes there are; `nodes` goes with `outages` too."""

    nodes: int | None = flag("As many nodes, always.", metavar="N")
    outages: str | None = flag(
        "Times without any node, at random, of this mean length; --nodes between them.",
        metavar="PER_HOUR,SECONDS",
    )
    outage_cv: float | None = flag(
        "Spread of outages: log-normal of this coefficient of variation (real ones: 3);"
        " exponential unless given.",
        metavar="X",
    )
    trace: str | None = flag(f"As many as {TRACE_SHAPE}.", metavar="FILE")
    script: str | None = flag("As many as [[seconds, nodes from then on], ...].", metavar="FILE")
    none: bool = flag("As many as anybody asks for.", default=False)
    tier: str | None = flag("Of this tier; of each unless given.", suggest=_TIERS)


def capacity_set(session: Session, args: CapacityArgs) -> Exit:
    """Set how many nodes every region has, for all its clusters together.

    A cluster that finds none waits for one. Dedicated nodes are never taken away.
    """
    from mlctl.simulator.control_plane import disruptions
    from mlctl.simulator.engine.model import Tier

    if args.outage_cv is not None and args.outages is None:
        raise UsageError("--outage-cv says how long --outages are: give those, too.")
    processes = _capacity(args)
    if len(processes) + args.none != 1:
        raise UsageError("say one of --nodes, --outages, --trace, --script and --none.")
    if args.tier not in (None, *_TIERS):
        raise UsageError(f"argument --tier: `{args.tier}` is none of {', '.join(_TIERS)}.")
    tier = Tier(args.tier) if args.tier else None
    with opened(session) as cloud:
        disruptions.set_capacity(cloud.handle, processes[0] if processes else None, tier)
    return Exit.OK


def capacity_show(
    session: Session, output: Output = OutputFormat.TABLE, query: Query = None
) -> Exit:
    """Show how many nodes every region has now, by tier."""
    from mlctl.simulator.control_plane import disruptions

    with opened(session) as cloud:
        processes = disruptions.capacity(cloud.handle)
        data: list[Data] = [{"tier": tier.value, "nodes": text} for tier, text in processes.items()]
        print_data(session, data, output, query)
    return Exit.OK


def _capacity(args: CapacityArgs) -> list[CapacityProcess]:
    from mlctl.simulator.engine import processes, traces

    found: list[CapacityProcess] = []
    if args.outages is not None:
        rate, mean = parse_numbers(args.outages, "--outages", 2)
        found.append(processes.OnOff(rate, mean, args.nodes, args.outage_cv))
    elif args.nodes is not None:
        found.append(processes.Constant(args.nodes))
    if args.trace is not None:
        found.append(parse_file(args.trace, traces.trace))
    if args.script is not None:
        found.append(parse_file(args.script, traces.steps))
    return found
