"""The az-style commands: `mlctl compute create -f ...` and its peers, one group a kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from mlctl.backends.base import Backend, Live, NotFound
from mlctl.changes import Action, Plan
from mlctl.cli.apply import Run, Yes, actions_of, carry_out
from mlctl.cli.command import command
from mlctl.cli.exits import Exit
from mlctl.cli.output import Output, OutputFormat, Query, print_data
from mlctl.cli.session import Session
from mlctl.cli.validate import new_report
from mlctl.graph import Graph
from mlctl.kinds import KINDS, Address, Kind
from mlctl.load import Loaded, Loader
from mlctl.plan import plan, removal
from mlctl.pointer import dotted
from mlctl.source import Document
from mlctl.steps import work
from mlctl.survey import survey, users

_RESOURCE = "Resource Id Arguments"


File = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="The YAML file; - for standard input.")]
Name = Annotated[str, typer.Option("--name", "-n", help="Name of the resource.", rich_help_panel=_RESOURCE)]
NewName = Annotated[
    str | None, typer.Option("--name", "-n", help="Name of the resource; over what the file says.", rich_help_panel=_RESOURCE)
]
Endpoint = Annotated[
    str, typer.Option("--endpoint-name", "-e", help="Name of the batch endpoint.", rich_help_panel=_RESOURCE)
]
NewEndpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint-name", "-e", help="Name of the batch endpoint; over what the file says.", rich_help_panel=_RESOURCE
    ),
]
Version = Annotated[
    str | None, typer.Option("--version", "-v", help="Version of the asset; the newest unless given.", rich_help_panel=_RESOURCE)
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Delete and create anew where a change cannot be made in place.")
]


def groups() -> Iterator[tuple[typer.Typer, str]]:
    """One group of commands for each kind."""
    for kind in KINDS.values():
        plural = kind.name.replace("-", " ") + "s"
        app = typer.Typer(help=f"Manage {plural}.", no_args_is_help=True)
        for name, body in _bodies(kind).items():
            command(app, name)(body)
        yield app, kind.name


def _bodies(kind: Kind) -> dict[str, Callable[..., Exit | None]]:
    if kind.parent:
        return _deployment(kind)
    return _asset(kind) if kind.versioned else _plain(kind)


def _plain(kind: Kind) -> dict[str, Callable[..., Exit | None]]:
    def create(
        session: Session, file: File, name: NewName = None, replace: Replace = False,
        output: Output = OutputFormat.JSON, query: Query = None,
    ) -> Exit:
        return _create(session, kind, _Wanted(file, {"name": name}, replace), output, query)

    def show(session: Session, name: Name, output: Output = OutputFormat.JSON, query: Query = None) -> Exit:
        return _show(session, Address(kind.name, name), output, query)

    def list_(session: Session, output: Output = OutputFormat.JSON, query: Query = None) -> Exit:
        return _list(session, kind, None, None, output, query)

    def delete(session: Session, name: Name, yes: Yes = False) -> Exit:
        return _delete(session, Address(kind.name, name), yes)

    return _documented(kind, create, show, list_, delete)


def _deployment(kind: Kind) -> dict[str, Callable[..., Exit | None]]:
    def create(
        session: Session, file: File, name: NewName = None, endpoint_name: NewEndpoint = None,
        replace: Replace = False, output: Output = OutputFormat.JSON, query: Query = None,
    ) -> Exit:
        given = {"name": name, "endpoint_name": endpoint_name}
        return _create(session, kind, _Wanted(file, given, replace), output, query)

    def show(
        session: Session, name: Name, endpoint_name: Endpoint, output: Output = OutputFormat.JSON, query: Query = None
    ) -> Exit:
        return _show(session, Address(kind.name, name, endpoint_name), output, query)

    def list_(session: Session, endpoint_name: Endpoint, output: Output = OutputFormat.JSON, query: Query = None) -> Exit:
        return _list(session, kind, endpoint_name, None, output, query)

    def delete(session: Session, name: Name, endpoint_name: Endpoint, yes: Yes = False) -> Exit:
        return _delete(session, Address(kind.name, name, endpoint_name), yes)

    return _documented(kind, create, show, list_, delete)


def _asset(kind: Kind) -> dict[str, Callable[..., Exit | None]]:
    def create(
        session: Session, file: File, name: NewName = None, version: Version = None,
        output: Output = OutputFormat.JSON, query: Query = None,
    ) -> Exit:
        return _create(session, kind, _Wanted(file, {"name": name, "version": version}), output, query)

    def show(
        session: Session, name: Name, version: Version = None, output: Output = OutputFormat.JSON, query: Query = None
    ) -> Exit:
        return _show(session, Address(kind.name, name, None, version), output, query)

    def list_(
        session: Session, name: NewName = None, output: Output = OutputFormat.JSON, query: Query = None
    ) -> Exit:
        return _list(session, kind, None, name, output, query)

    def delete(session: Session, name: Name, version: Version = None, yes: Yes = False) -> Exit:
        return _delete(session, Address(kind.name, name, None, version), yes)

    return _documented(kind, create, show, list_, delete)


def _documented(kind: Kind, *bodies: Callable[..., Exit | None]) -> dict[str, Callable[..., Exit | None]]:
    what = kind.name.replace("-", " ")
    texts = {
        "create": f"Create a {what} from a YAML file, or bring the one that exists to what the file says.\n\n"
        "What changes is shown first. A change that cannot be made in place is refused unless --replace is given.",
        "show": f"Show a {what}. Exits with 3 when there is none.",
        "list": f"List the {what}s.",
        "delete": f"Delete a {what}.",
    }
    named = dict(zip(texts, bodies, strict=True))
    for name, body in named.items():
        body.__doc__ = texts[name]
    return named


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What `create` was given: the file, values over it, and whether a replacement is allowed."""

    file: str
    given: Mapping[str, str | None]
    replace: bool = False

    def edit(self, document: Document, _kind: Kind) -> Document:
        """The document with the values of the flags."""
        data = copy.copy(document.data) | {key: value for key, value in self.given.items() if value is not None}
        return replace(document, data=data)


def _create(session: Session, kind: Kind, wanted: _Wanted, output: OutputFormat, query: str | None) -> Exit:
    report = new_report(None, None, strict=False)
    with session.backend() as backend:
        loader = Loader(report, session.today, kind, backend.scope, planning=True, edit=wanted.edit)
        loaded = loader.load([wanted.file])
        if len(report) and (report.failed or not session.flags.only_show_errors):
            session.show(report)
        if report.failed:
            return Exit.ERROR
        made = plan(loaded.graph, survey(loaded.graph, backend), backend=backend.name)
        code = _refused(session, made, wanted) or _put(session, backend, made, loaded.graph)
        if code is not Exit.OK:
            return code
        _print_made(session, backend, made, loaded, output, query)
    return Exit.OK


def _refused(session: Session, made: Plan, wanted: _Wanted) -> Exit | None:
    """Predicted rejections, and replacements that nobody asked for."""
    if made.rejections:
        session.show_rejections(made)
        return Exit.ERROR
    replaced = [change for change in made.changes if change.action is Action.REPLACE]
    if not replaced or wanted.replace:
        return None
    session.show_plan(made)
    for change in replaced:
        names = ", ".join(f"`{dotted(one.at)}`" for one in change.fields if one.forces_replacement)
        session.say(
            f"ERROR: {change.address} exists, and {names} cannot be changed in place.\n"
            "Pass --replace to delete it and create it anew; what runs on it is lost."
        )
    return Exit.ERROR


def _put(session: Session, backend: Backend, made: Plan, graph: Graph) -> Exit:
    if made.empty:
        session.note("No changes: it is as the file says.")
        return Exit.OK
    if any(change.action is not Action.CREATE for change in made.pending):
        session.show_plan(made, quiet=session.flags.only_show_errors)
    code = carry_out(session, backend, Run(work(made, graph), actions_of(made), quiet=True))
    return Exit.ERROR if code in (Exit.PARTIAL, Exit.STALE) else code


def _print_made(
    session: Session, backend: Backend, made: Plan, loaded: Loaded, output: OutputFormat, query: str | None
) -> None:
    named = {id(one.document) for one in loaded.resources}
    addresses = [
        change.address
        for change in made.changes
        if change.resource is not None and change.resource.owner is None and id(change.resource.document) in named
    ]
    live = backend.read(addresses)
    shown = [_shown(live[address], backend) for address in addresses if address in live]
    print_data(session, shown[0] if len(shown) == 1 else shown, output, query)


def _show(session: Session, address: Address, output: OutputFormat, query: str | None) -> Exit:
    with session.backend() as backend:
        live = backend.read([address]).get(address)
        if live is None:
            raise NotFound("ResourceNotFound", f"There is no {address} in workspace {backend.scope.workspace}.", status=404)
        print_data(session, _shown(live, backend), output, query)
    return Exit.OK


def _list(
    session: Session, kind: Kind, parent: str | None, name: str | None, output: OutputFormat, query: str | None
) -> Exit:
    with session.backend() as backend:
        found = backend.list(kind.name, parent)
        if name is not None:
            found = [live for live in found if live.address.name.casefold() == name.casefold()]
        print_data(session, [_shown(live, backend) for live in found], output, query)
    return Exit.OK


def _delete(session: Session, address: Address, yes: bool) -> Exit:
    with session.backend() as backend:
        wanted = [address, address.up] if address.up else [address]
        live = backend.read(wanted)
        if address not in live:
            raise NotFound("ResourceNotFound", f"There is no {address} in workspace {backend.scope.workspace}.", status=404)
        made = removal(live[address], live, backend.name, backend.scope, users(backend))
        if made.rejections:
            session.show_rejections(made)
            return Exit.ERROR
        if not yes and not session.confirmed(f"Delete {live[address].address}?"):
            return Exit.ERROR
        code = carry_out(session, backend, Run(work(made, Graph({}, ())), actions_of(made), quiet=True))
    return Exit.ERROR if code in (Exit.PARTIAL, Exit.STALE) else code


def _shown(live: Live, backend: Backend) -> dict[str, Any]:
    from mlctl.render import resources

    return resources.resource(live, backend.scope)
