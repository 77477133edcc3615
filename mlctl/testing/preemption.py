"""What takes nodes of a simulated workspace away: now, by a rate, by a script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlctl import durations
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

if TYPE_CHECKING:  # the event engine takes long to load
    from mlctl.simulator.engine.processes import PreemptionProcess


@dataclass(frozen=True, slots=True)
class Preemption:
    """Takes low-priority nodes away. Called, it does so now; its methods set what will."""

    handle: WorkspaceHandle

    def __call__(self, cluster: str, nodes: int | None = 1) -> int:
        """Take nodes of a cluster away now, all that are up with None; how many went.

        Raises:
            ServiceError: there is no such cluster, it is dedicated, or has fewer nodes.
        """
        from mlctl.simulator.control_plane import disruptions

        return disruptions.preempt(self.handle, Address("compute", cluster), nodes)

    def by_rate(self, per_node_hour: float) -> None:
        """From now on each node is lost at this rate, whatever its age.

        Raises:
            ServiceError: the rate is negative.
        """
        from mlctl.simulator.engine.processes import Poisson

        self._set(Poisson(per_node_hour))

    def by_script(self, losses: Iterable[tuple[str | float, int | str]]) -> None:
        """At these times from now (`10m`, or seconds) the node of this number goes, or `all`.

        Raises:
            ServiceError: a loss is none.
            ValueError: a time is none.
        """
        from mlctl.simulator.engine.processes import LossScript

        read = (
            (durations.parse(at) if isinstance(at, str) else float(at), node) for at, node in losses
        )
        self._set(LossScript(tuple(sorted(read, key=lambda loss: loss[0]))))

    def by_weather(self, name: str) -> None:
        """From now on nodes are lost as in this weather (`mlctl local preemption set --weather`).

        Raises:
            ValueError: there is no weather of this name, or it is a trace.
        """
        from mlctl.forecast.weather import models as weather

        model = weather.by_name(name)
        if model is None or model.trace is not None:
            raise ValueError(f"there is no weather `{name}`; there is {', '.join(weather.names())}")
        self._set(*model.processes())

    def stop(self) -> None:
        """From now on no node is taken away."""
        self._set()

    def _set(self, *processes: PreemptionProcess) -> None:
        from mlctl.simulator.control_plane import disruptions

        disruptions.set_preemption(self.handle, processes)
