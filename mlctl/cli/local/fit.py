"""`mlctl local preemption fit`: what took the nodes of a real cluster away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files
from mlctl.cli.local.flag_text import read_text
from mlctl.cli.shell import Exit, Session, flag
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the forecasts take longer to load than most commands
    from mlctl.forecast.statistics import Estimate
    from mlctl.forecast.weather.fit import Fit


def preemption_fit(
    session: Session,
    source: Path = flag(
        "Preempted Nodes and Total Nodes by the minute: what Azure Monitor or"
        " `mlctl compute metrics -o json` says.",
        "--from",
        default=...,
        metavar="FILE",
    ),
    cores_per_node: int | None = flag("The metrics are those of cores.", min=1, metavar="N"),
    out: Path | None = flag("Write it as weather, for `set --weather FILE`.", "-o", metavar="FILE"),
) -> Exit:
    """Fit what takes nodes away to the metrics of a cluster, by maximum likelihood.

    Says the rate at which single nodes are lost, how often capacity drops and which share of the
    nodes a drop takes, with 95 % intervals, and whether losses come together.
    """
    from mlctl.forecast.weather import fit

    try:
        losses = fit.read(read_text(source), cores_per_node=cores_per_node)
        fitted = fit.fit(losses)
    except fit.FitError as error:
        raise Permanent("InvalidMetrics", f"`{source}`: {error}") from None
    for line in _lines(fitted):
        session.out(line + "\n")
    if out is not None:
        weather = fitted.weather(source.stem, f"fitted to {source.name}").document()
        text = json.dumps({**weather, "fit": _document(fitted)}, indent=2) + "\n"
        try:
            files.write(out, text.encode())
        except OSError as error:
            raise Permanent("CannotWrite", f"cannot write `{out}`: {error.strerror}") from None
        session.note(f"wrote {out}")
    return Exit.OK


def _lines(fitted: Fit) -> Iterator[str]:
    losses = fitted.losses
    yield f"{losses.lost} nodes lost in {losses.node_hours:,.1f} node-hours"
    yield f"rate      {_text(fitted.rate)} an hour, each node on its own"
    if fitted.shocks is None or fitted.fraction is None:
        yield "Losses come one by one: nothing shows that they come together."
        return
    yield f"shocks    {_text(fitted.shocks)} an hour"
    yield f"fraction  {_text(fitted.fraction)} of the nodes that are up fall to one"
    yield (
        f"Losses come together: without shocks these metrics are {fitted.gain:,.0f} log-units less"
        f" likely{_chance(fitted.chance)}."
    )


def _chance(chance: float) -> str:
    return " (p < 0.000001)" if chance < 1e-6 else f" (p = {chance:.2g})"  # noqa: PLR2004


def _text(estimate: Estimate) -> str:
    return f"{estimate.value:.4f}  (95 %: {estimate.low:.4f} to {estimate.high:.4f})"


def _document(fitted: Fit) -> dict[str, object]:
    parts = {"rate": fitted.rate, "shocks": fitted.shocks, "fraction": fitted.fraction}
    intervals = {
        name: [estimate.low, estimate.high]
        for name, estimate in parts.items()
        if estimate is not None
    }
    return {"intervals_95": intervals, "log_likelihood_gain": fitted.gain}
