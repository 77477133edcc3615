"""How a function becomes a command: the flags that every command takes are added here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from mlctl.backends.ports.backend import Options
from mlctl.cli.exits import Exit
from mlctl.cli.session import Flags, Session

_GLOBAL = "Global Arguments"

Subscription = Annotated[
    str | None,
    typer.Option(
        "--subscription",
        metavar="ID",
        help="Name or id of the subscription.",
        rich_help_panel=_GLOBAL,
    ),
]
ResourceGroup = Annotated[
    str | None,
    typer.Option(
        "--resource-group",
        "-g",
        metavar="NAME",
        help="Name of the resource group.",
        rich_help_panel=_GLOBAL,
    ),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace-name",
        "-w",
        metavar="NAME",
        help="Name of the workspace.",
        rich_help_panel=_GLOBAL,
    ),
]
BackendName = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="local (a simulated workspace) or azure.",
        rich_help_panel=_GLOBAL,
    ),
]
Auth = Annotated[
    str | None,
    typer.Option(
        "--auth",
        metavar="WAY",
        help="Where tokens for Azure come from: default, cli, env, managed-identity,"
        " workload-identity or browser.",
        rich_help_panel=_GLOBAL,
    ),
]
Cloud = Annotated[
    str | None,
    typer.Option(
        "--cloud",
        metavar="NAME",
        help="AzureCloud, AzureChinaCloud or AzureUSGovernment.",
        rich_help_panel=_GLOBAL,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        help="How long one operation on Azure may take; 1800 unless given.",
        rich_help_panel=_GLOBAL,
    ),
]
OnlyShowErrors = Annotated[
    bool,
    typer.Option(
        "--only-show-errors", help="Only show errors, suppressing notes.", rich_help_panel=_GLOBAL
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Say more about what is done and why.", rich_help_panel=_GLOBAL),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="Show the traceback of an internal error.", rich_help_panel=_GLOBAL
    ),
]

Body = Callable[..., Exit | None]


class Command(TyperCommand):
    """A command: the parameters that it was made of, what help says, what it does with values."""

    declared: ClassVar[tuple[inspect.Parameter, ...]] = ()
    text: ClassVar[str] = ""
    run: ClassVar[Callable[..., int]]


class Group(TyperGroup):
    """The root of the commands, with the flags that may stand before the verb."""

    declared: ClassVar[tuple[inspect.Parameter, ...]] = ()


def _globals(
    subscription: Subscription = None,
    resource_group: ResourceGroup = None,
    workspace: Workspace = None,
    backend: BackendName = None,
    auth: Auth = None,
    cloud: Cloud = None,
    timeout: Timeout = None,
    only_show_errors: OnlyShowErrors = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> Flags:
    options = Options(auth, cloud, timeout)
    scope = (subscription, resource_group, workspace)
    return Flags(*scope, backend, options, only_show_errors, verbose, debug)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function with their annotations as values."""
    hints = get_type_hints(function, include_extras=True)
    return [
        one.replace(annotation=hints[name])
        for name, one in inspect.signature(function).parameters.items()
    ]


_SHARED = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in _parameters(_globals)]


def command(app: typer.Typer, name: str, **options: Any) -> Callable[[Body], Body]:
    """Register a function `(session, flags...) -> Exit` as the command `name` of `app`.

    The function keeps its own signature; the command takes the global flags besides.
    """

    def register(body: Body) -> Body:
        own = [one for one in _parameters(body) if one.name != "session"]
        add(app, name, body, own, inspect.getdoc(body) or "", **options)
        return body

    return register


def add(
    app: typer.Typer,
    name: str,
    body: Body,
    own: Iterable[inspect.Parameter],
    text: str,
    **options: Any,
) -> None:
    """Register `body` as a command that takes the parameters `own` and the global flags."""

    def run(**given: Any) -> Exit:
        flags = _globals(**{one.name: given.pop(one.name) for one in _SHARED})
        return body(Session(flags), **given) or Exit.OK

    declared = (*own, *_SHARED)
    _sign(run, declared)
    run.__doc__ = text
    members = {"declared": declared, "text": text, "run": staticmethod(run)}
    app.command(name, cls=type("Command", (Command,), members), **options)(run)


def root(app: typer.Typer) -> None:
    """Let the global flags stand before the verb too: `mlctl --backend azure plan`."""

    def callback(**_given: Any) -> None:
        """Nothing: the flags are read with those of the command."""

    _sign(callback, _SHARED)
    made = type("Group", (Group,), {"declared": tuple(_SHARED)})
    app.callback(cls=made)(callback)


def _sign(function: Callable[..., Any], parameters: Iterable[inspect.Parameter]) -> None:
    """Give a function the signature that typer reads, for completion."""
    signed = list(parameters)
    function.__signature__ = inspect.Signature(signed)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in signed}
