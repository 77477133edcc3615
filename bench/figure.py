"""A line of the table of `make bench`: what was measured, beside what, and whether it is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

_LINE = "{:<38} {:>14} {:>14}  {:<26} {:>7} {:>9}  {}"
HEAD = _LINE.format("what", "mlctl", "peer", "", "ratio", "target", "")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: rounds of each row, in smaller worlds or in very large ones, too."""

    runs: int = 3
    quick: bool = False
    long: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number. `met` is None where there is nothing to hold it against."""

    what: str
    ours: str
    target: str = ""
    met: bool | None = None
    theirs: str = ""
    peer: str = ""
    ratio: str = ""
    note: str = ""

    def line(self) -> str:
        """The figure as a row of the table."""
        verdict = {None: "", True: "ok", False: "MISSED"}[self.met]
        end = ", ".join(filter(None, (verdict, self.note)))
        cells = (self.what, self.ours, self.theirs, self.peer, self.ratio, self.target, end)
        return _LINE.format(*cells).rstrip()


def in_turns(
    what: str, ours: Sequence[float], theirs: Sequence[float], peer: str, most: float
) -> Figure:
    """Seconds of rounds, each beside the peer's of its round: the median ratio counts."""
    ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
    return replace(
        beside(what, median(ours), median(theirs), peer, most),
        ratio=f"{ratio:.2f}",
        met=ratio <= most,
    )


def beside(what: str, ours: float, theirs: float, peer: str, most: float) -> Figure:
    """Seconds beside a peer's, and how many times those they may be."""
    ratio = ours / theirs
    fits = ratio <= most
    return Figure(what, told(ours), f"<= {most:g}x", fits, told(theirs), peer, f"{ratio:.2f}")


def told(seconds: float) -> str:
    """A time in the unit that suits it."""
    return f"{seconds:.3f} s" if seconds >= 0.01 else f"{seconds * 1000:.3f} ms"


def absent(what: str, ours: str, peer: str) -> Figure:
    """A figure whose peer this machine has not."""
    return Figure(what, ours, theirs="absent", peer=peer)


def at_most(what: str, value: float, unit: str, most: float) -> Figure:
    """A number that must not be above a bound."""
    return Figure(what, f"{value:,.2f} {unit}", f"<= {most:g} {unit}", value <= most)
