"""The flags that every command takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mlctl.cli.parser.declare import flag
from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from mlctl.backends.ports.backend import ConnectionOptions

_LONGEST = 86_400  # seconds


_flag = partial(flag, panel="Global Arguments")


@dataclass(frozen=True, slots=True)
class GlobalArgs:
    """The flags of every command; None means "not given"."""

    subscription: str | None = _flag(metavar="ID")
    resource_group: str | None = _flag("-g", metavar="NAME")
    workspace: str | None = _flag("--workspace-name", "-w", metavar="NAME")
    backend: str | None = _flag(metavar="NAME")
    env: str | None = _flag(metavar="NAME")
    var: list[str] | None = _flag(metavar="NAME=VALUE")
    var_file: list[str] | None = _flag(metavar="FILE")
    auth: str | None = _flag(metavar="WAY")
    cloud: str | None = _flag(metavar="NAME")
    timeout: float | None = _flag(metavar="SECONDS", min=1, max=_LONGEST)
    price_file: str | None = _flag(metavar="FILE")
    only_show_errors: bool = _flag(default=False)
    verbose: bool = _flag(default=False)
    debug: bool = _flag(default=False)

    @property
    def options(self) -> ConnectionOptions:
        """Return how to reach a backend across the network, as far as flags say."""
        from mlctl.backends.ports.backend import ConnectionOptions

        return ConnectionOptions(self.auth, self.cloud, self.timeout)

    @property
    def scope(self) -> dict[str, str | None]:
        """Return the parts of the workspace's name, by those of `Scope`."""
        return {
            "subscription": self.subscription,
            "resource_group": self.resource_group,
            "workspace": self.workspace,
        }
