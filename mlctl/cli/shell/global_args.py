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

    subscription: str | None = _flag("Name or id of the subscription.", metavar="ID")
    resource_group: str | None = _flag("Name of the resource group.", "-g", metavar="NAME")
    workspace: str | None = _flag(
        "Name of the workspace.", "--workspace-name", "-w", metavar="NAME"
    )
    backend: str | None = _flag("local (a simulated workspace) or azure.", metavar="NAME")
    env: str | None = _flag(
        "An environment in mlctl.yml, with its workspace, variables and overlays; several "
        "separated by commas, or all.",
        metavar="NAME",
    )
    var: list[str] | None = _flag(
        "Set a variable used in the files (repeatable).", metavar="NAME=VALUE"
    )
    var_file: list[str] | None = _flag("A YAML file of variables (repeatable).", metavar="FILE")
    auth: str | None = _flag(
        "How to sign in to Azure: default, cli, env, managed-identity, workload-identity or "
        "browser.",
        metavar="WAY",
    )
    cloud: str | None = _flag("AzureCloud, AzureChinaCloud or AzureUSGovernment.", metavar="NAME")
    timeout: float | None = _flag(
        "Time limit for one operation on Azure; 1800 by default.",
        metavar="SECONDS",
        min=1,
        max=_LONGEST,
    )
    price_file: str | None = _flag(
        "A price list for nodes; overrides `prices:` in mlctl.yml.", metavar="FILE"
    )
    only_show_errors: bool = _flag("Only show errors, suppressing notes.", default=False)
    verbose: bool = _flag("Show more about what is done and why.", default=False)
    debug: bool = _flag("Show the traceback of an internal error.", default=False)

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
