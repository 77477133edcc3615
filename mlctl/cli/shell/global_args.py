"""The flags that every command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mlctl.cli.parser.declare import OptionSpec
from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from mlctl.backends.ports.backend import ConnectionOptions

_LONGEST = 86_400  # seconds


def _flag(*names: str, help: str, metavar: str | None = None, **bounds: Any) -> Any:  # noqa: A002
    panel = "Global Arguments"
    return OptionSpec(*names, help=help, metavar=metavar, panel=panel, **bounds)


@dataclass(frozen=True, slots=True)
class GlobalArgs:
    """The flags of every command; None is "not given"."""

    subscription: Annotated[
        str | None, _flag("--subscription", metavar="ID", help="Name or id of the subscription.")
    ] = None
    resource_group: Annotated[
        str | None,
        _flag("--resource-group", "-g", metavar="NAME", help="Name of the resource group."),
    ] = None
    workspace: Annotated[
        str | None, _flag("--workspace-name", "-w", metavar="NAME", help="Name of the workspace.")
    ] = None
    backend: Annotated[
        str | None,
        _flag("--backend", metavar="NAME", help="local (a simulated workspace) or azure."),
    ] = None
    env: Annotated[
        str | None,
        _flag(
            "--env",
            metavar="NAME",
            help="An environment of mlctl.yml: its workspace, variables and overlays; several with"
            " commas between, or all.",
        ),
    ] = None
    var: Annotated[
        list[str] | None,
        _flag("--var", metavar="NAME=VALUE", help="A variable of the files (repeatable)."),
    ] = None
    var_file: Annotated[
        list[str] | None,
        _flag("--var-file", metavar="FILE", help="A YAML file of variables (repeatable)."),
    ] = None
    auth: Annotated[
        str | None,
        _flag(
            "--auth",
            metavar="WAY",
            help="Where tokens for Azure come from: default, cli, env, managed-identity,"
            " workload-identity or browser.",
        ),
    ] = None
    cloud: Annotated[
        str | None,
        _flag("--cloud", metavar="NAME", help="AzureCloud, AzureChinaCloud or AzureUSGovernment."),
    ] = None
    timeout: Annotated[
        float | None,
        _flag(
            "--timeout",
            metavar="SECONDS",
            min=1,
            max=_LONGEST,
            help="How long one operation on Azure may take; 1800 unless given.",
        ),
    ] = None
    price_file: Annotated[
        str | None,
        _flag("--price-file", metavar="FILE", help="What nodes cost; `prices:` of mlctl.yml."),
    ] = None
    only_show_errors: Annotated[
        bool, _flag("--only-show-errors", help="Only show errors, suppressing notes.")
    ] = False
    verbose: Annotated[bool, _flag("--verbose", help="Say more about what is done and why.")] = (
        False
    )
    debug: Annotated[bool, _flag("--debug", help="Show the traceback of an internal error.")] = (
        False
    )

    @property
    def options(self) -> ConnectionOptions:
        """How a backend is to be reached across the network, as far as flags say so."""
        from mlctl.backends.ports.backend import ConnectionOptions

        return ConnectionOptions(self.auth, self.cloud, self.timeout)

    @property
    def scope(self) -> dict[str, str | None]:
        """The parts of the workspace's name, by those of `Scope`."""
        return {
            "subscription": self.subscription,
            "resource_group": self.resource_group,
            "workspace": self.workspace,
        }
