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

    nodes: int | None = flag("A constant number of nodes.", metavar="N")
    outages: str | None = flag(
        "Random outages without any nodes, of this mean length; --nodes between them.",
        metavar="PER_HOUR,SECONDS",
    )
    outage_cv: float | None = flag(
        "Draw outages from a log-normal distribution with this coefficient of variation (real "
        "ones: 3); exponential by default.",
        metavar="X",
    )
    trace: str | None = flag(f"As many as {TRACE_SHAPE}.", metavar="FILE")
    script: str | None = flag(
        "A script of node counts: [[seconds, nodes from then on], ...].", metavar="FILE"
    )
    none: bool = flag("Unlimited nodes.", default=False)
    tier: str | None = flag("Only for this tier; both tiers by default.", suggest=_TIERS)


def capacity_set(session: Session, args: CapacityArgs) -> Exit:
    """Set how many nodes each region has, for all its clusters together.

    A cluster that gets no node waits for one. Dedicated nodes are never preempted.
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
    """Show how many nodes each region has now, by tier."""
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
