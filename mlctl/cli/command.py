"""How a function becomes a command: the flags that every command takes are added here, once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from mlctl.cli.exits import Exit
from mlctl.cli.session import Flags, Session

_GLOBAL = "Global Arguments"

Subscription = Annotated[
    str | None,
    typer.Option("--subscription", metavar="ID", help="Name or id of the subscription.", rich_help_panel=_GLOBAL),
]
ResourceGroup = Annotated[
    str | None,
    typer.Option("--resource-group", "-g", metavar="NAME", help="Name of the resource group.", rich_help_panel=_GLOBAL),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace-name", "-w", metavar="NAME", help="Name of the workspace.", rich_help_panel=_GLOBAL
    ),
]
BackendName = Annotated[
    str | None,
    typer.Option(
        "--backend", metavar="NAME", help="local (a simulated workspace) or azure.", rich_help_panel=_GLOBAL
    ),
]
OnlyShowErrors = Annotated[
    bool, typer.Option("--only-show-errors", help="Only show errors, suppressing notes.", rich_help_panel=_GLOBAL)
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Say more about what is done and why.", rich_help_panel=_GLOBAL)
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an internal error.", rich_help_panel=_GLOBAL)
]


def _globals(
    subscription: Subscription = None,
    resource_group: ResourceGroup = None,
    workspace: Workspace = None,
    backend: BackendName = None,
    only_show_errors: OnlyShowErrors = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> Flags:
    return Flags(subscription, resource_group, workspace, backend, only_show_errors, verbose, debug)


_SHARED = {
    name: parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
    for (name, parameter), hint in zip(
        inspect.signature(_globals).parameters.items(),
        get_type_hints(_globals, include_extras=True).values(),
        strict=False,
    )
}

Body = Callable[..., Exit | None]


def command(app: typer.Typer, name: str, **options: Any) -> Callable[[Body], Body]:
    """Register a function `(session, flags...) -> Exit` as the command `name` of `app`.

    The function keeps its own signature; the command takes the global flags besides.
    """

    def register(body: Body) -> Body:
        def run(context: typer.Context, **given: Any) -> Exit:
            flags = _globals(**{key: given.pop(key) for key in _SHARED})
            above = context.find_root().obj
            session = Session(flags.over(above) if isinstance(above, Flags) else flags)
            return body(session, **given) or Exit.OK

        hints = get_type_hints(body, include_extras=True)
        own = [
            parameter.replace(annotation=hints[key])
            for key, parameter in inspect.signature(body).parameters.items()
            if key != "session"
        ]
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        parameters = [first, *own, *_SHARED.values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__doc__ = body.__doc__
        app.command(name, **options)(run)
        return body

    return register


def root(app: typer.Typer) -> None:
    """Let the global flags stand before the verb too: `mlctl --backend azure plan`."""

    def callback(context: typer.Context, **given: Any) -> None:
        context.obj = _globals(**given)

    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [first, *_SHARED.values()]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    callback.__annotations__ = {one.name: one.annotation for one in parameters}
    app.callback()(callback)
