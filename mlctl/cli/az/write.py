"""The az-style verbs that write: a document, a plan, an apply, as for files. No second path."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.apply import Run, actions_of, perform
from mlctl.cli.az import documents
from mlctl.cli.az.args import WriteArgs
from mlctl.cli.az.documents import Novelties, Typed
from mlctl.cli.az.overlay import Value, lay
from mlctl.cli.az.read import address_of, found, missing
from mlctl.cli.exits import Exit
from mlctl.cli.output import print_data, print_plan
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.session import Session
from mlctl.config import graph
from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig, Loader
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, Address, Kind, kind_of
from mlctl.kinds.address import own_address
from mlctl.kinds.resource import Resource, build
from mlctl.planning.model import Action, Plan
from mlctl.planning.planner import plan, removal
from mlctl.planning.refresh import find_users, refresh
from mlctl.planning.steps import work
from mlctl.pointer import dotted, put
from mlctl.render import outcome, resources
from mlctl.render.outcome import Outcome
from mlctl.source import Document, SourceFile


def create(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Create what the file and the flags say, or bring what is there to it."""
    _check_flags(kind, args)
    typed = Typed.of(kind, kind.create_flags, args)
    report = Report()
    with session.backend() as backend:
        loader = Loader(
            report,
            session.today,
            kind,
            backend.scope,
            planning=True,
            edit=lambda document, _kind: documents.created(document, typed),
            scripts=not args.skip_script_validation,
        )
        loaded = _load(loader, args)
        if args.if_not_exists and not loaded.report.failed:
            there = backend.read([one.address for one in loaded.resources])
            if len(there) == len(loaded.resources):
                session.note("It is there already, and stays as it is.")
                _print_live(session, backend, there.values(), args)
                return Exit.OK
            loaded = replace(loaded, graph=_without(loaded.graph, there, backend))
        if args.set_default:
            loaded = replace(loaded, graph=_with_defaults(loaded, backend))
        return _finish(session, backend, loaded, args)


def update(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Change a live resource, and nothing that was not asked for."""
    typed = Typed.of(kind, kind.update_flags, args)
    with session.backend() as backend:
        report = Novelties()

        def edit(document: Document, one: Kind) -> Document:
            live = found(backend, _address(document, one, args))
            report.known |= _said_of(live, session, backend)
            return documents.updated(document, live, backend.scope, typed, report)

        loader = Loader(report, session.today, kind, backend.scope, planning=True, edit=edit)
        return _finish(session, backend, _load(loader, args), args)


def archive(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Archive a version of an asset, or all of them; they stay usable by name and version."""
    return _archive(session, kind, args, archived=True)


def restore(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Undo what `archive` did."""
    return _archive(session, kind, args, archived=False)


def delete(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Delete one resource, with all that is beneath."""
    address = address_of(kind, args)
    with session.backend() as backend:
        live = backend.read([address, address.up] if address.up else [address])
        if address not in live:
            raise missing(backend, address)
        made = removal(live[address], live, backend.name, backend.scope, find_users(backend))
        if args.dry_run:
            print_plan(session, made, args.output)
            return Exit.ERROR if made.rejections else Exit.OK
        if made.rejections:
            session.show_rejections(made)
            return Exit.ERROR
        agreed = args.yes or session.settings.truth("disable_confirm_prompt")
        if not agreed and not session.confirmed(f"Delete {live[address].address}?"):
            return Exit.ERROR
        return _perform(session, backend, made, Graph({}, ()), args)


COMMANDS: Mapping[str, Callable[[Session, Kind, WriteArgs], Exit]] = {
    "create": create,
    "update": update,
    "archive": archive,
    "restore": restore,
    "delete": delete,
}


def _archive(session: Session, kind: Kind, args: WriteArgs, *, archived: bool) -> Exit:
    verb = "archive" if archived else "restore"
    with session.backend() as backend:
        report = Novelties()
        read = []
        for live in _versions(backend, kind, args):
            report.known |= _said_of(live, session, backend)
            read.append(documents.as_document(live, backend.scope))

        def edit(document: Document, _kind: Kind) -> Document:
            value = Value(("is_archived",), archived, verb, str(document.data["name"]))
            return lay({**document.data, "is_archived": archived}, [value], document)

        loader = Loader(report, session.today, kind, backend.scope, planning=True, edit=edit)
        loaded = loader.check([(SourceFile(one.source.name, explicit=True), one) for one in read])
        return _finish(session, backend, loaded, args, silent=True)


def _check_flags(kind: Kind, args: WriteArgs) -> None:
    """Refuse flags that exclude each other, are not for the kind, or are missing without a file."""
    if args.no_wait and args.set_default:
        raise UsageError("--set-default does not work with --no-wait: it is read back and proved.")
    instances_only = {
        "--user-object-id": args.user_object_id,
        "--user-tenant-id": args.user_tenant_id,
    }
    for flag, value in instances_only.items():
        if value is not None:
            raise UsageError(f"{flag} is only valid for type ComputeInstance.")
    given = {**args.fields, "name": args.name}
    absent = [name for name in kind.required_flags if given.get(name) is None]
    if args.file is None and absent:
        flags = ", ".join(f"--{name}" for name in absent)
        raise UsageError(f"the following arguments are required without --file: {flags}")


def _load(loader: Loader, args: WriteArgs) -> LoadedConfig:
    if args.file is not None:
        return loader.load([args.file])
    blank = documents.blank()
    return loader.check([(SourceFile(blank.source.name, explicit=True), blank)])


def _address(document: Document, kind: Kind, args: WriteArgs) -> Address:
    """The address that the flags and the file name together, flags over the file."""

    def either(value: str | None, name: str) -> str | None:
        return document.data.get(name) if value is None else value

    whole = replace(
        args,
        name=either(args.name, "name"),
        endpoint_name=either(args.endpoint_name, "endpoint_name"),
        version=either(args.version, "version"),
    )
    names = {"name": whole.name, "endpoint_name": whole.endpoint_name, "version": whole.version}
    if own_address(kind, names) is None:
        flags = "--name and --endpoint-name" if kind.parent else "--name"
        raise UsageError(
            f"the following arguments are required without a file that says so: {flags}"
        )
    return address_of(kind, whole)


def _said_of(live: Live, session: Session, backend: Backend) -> frozenset[tuple[str, str]]:
    """What can be said against a resource as it is."""
    report = Report()
    kind = KINDS[live.address.kind]
    document = documents.as_document(live, backend.scope)
    loader = Loader(report, session.today, kind, backend.scope)
    loader.check([(SourceFile(document.source.name, explicit=True), document)])
    return frozenset((one.rule.code, one.message) for one in report)


def _versions(backend: Backend, kind: Kind, args: WriteArgs) -> Sequence[Live]:
    """The version that is named, or all of them."""
    address = address_of(kind, args)
    if address.version is not None or args.label is not None:
        return [found(backend, address)]
    every = [one for one in backend.list(kind.name) if one.address.at(None) == address]
    if not every:
        raise missing(backend, address)
    return every


def _with_defaults(loaded: LoadedConfig, backend: Backend) -> Graph:
    """The graph with the parents of the resources, which are to be their default children."""
    named = [one.address for one in loaded.resources]
    live = backend.read([one.up for one in named if one.up is not None])
    parents = []
    for one in named:
        parent = live.get(one.up) if one.up else None
        if parent is not None:
            kind = kind_of(parent.address)
            document = documents.as_document(parent, backend.scope)
            data = copy.deepcopy(dict(document.data))
            put(data, kind.default_child, one.name)
            value = Value(kind.default_child, one.name, "--set-default", one.name)
            parents.append(build(lay(data, [value], document), kind))
    every = (*loaded.graph.resources.values(), *(one for one in parents if one is not None))
    return graph.build(every, backend.scope)


def _without(of: Graph, there: Mapping[Address, Live], backend: Backend) -> Graph:
    """The graph without what is there, and without what that has inline."""
    kept = (one for one in of.resources.values() if (one.owner or one.address) not in there)
    return graph.build(kept, backend.scope)


def _finish(
    session: Session,
    backend: Backend,
    loaded: LoadedConfig,
    args: WriteArgs,
    *,
    silent: bool = False,
) -> Exit:
    """From the gate to the end: plan, show, write, read back."""
    report = loaded.report
    if len(report) and (report.failed or not session.quiet):
        session.show(report)
    if report.failed:
        return Exit.ERROR
    made = plan(loaded.graph, refresh(loaded.graph, backend), backend=backend.name)
    if args.dry_run:
        print_plan(session, made, args.output)
        return Exit.ERROR if made.rejections else Exit.OK
    refused = _refused(session, made, args)
    if refused:
        return Exit.ERROR
    if made.empty:
        session.note("No changes: it is so already.")
    elif any(change.action is not Action.CREATE for change in made.pending):
        session.show_plan(made, quiet=session.quiet)
    code = _perform(session, backend, made, loaded.graph, args)
    if code is Exit.OK and not args.no_wait and not silent:
        _print_made(session, backend, made, loaded.resources, args)
    return code


def _refused(session: Session, made: Plan, args: WriteArgs) -> bool:
    """Whether it is predicted to be rejected, or replaces what nobody asked to replace."""
    if made.rejections:
        session.show_rejections(made)
        return True
    replaced = [change for change in made.changes if change.action is Action.REPLACE]
    if not replaced or args.replace:
        return False
    session.show_plan(made)
    for change in replaced:
        names = ", ".join(f"`{dotted(one.at)}`" for one in change.fields if one.forces_replacement)
        why = f"{names} cannot be changed in place" if names else f"{change.because} is replaced"
        session.say(
            f"ERROR: {change.address} exists, and {why}.\n"
            "Pass --replace to delete it and create it anew; what runs on it is lost."
        )
    return True


def _perform(session: Session, backend: Backend, made: Plan, of: Graph, args: WriteArgs) -> Exit:
    run = Run(work(made, of), actions_of(made), wait=not args.no_wait)
    ended = perform(session, backend, run)
    for line in _errors(ended):
        session.say(line)
    return Exit.OK if ended.complete else Exit.ERROR


def _errors(ended: Outcome) -> Iterable[str]:
    """Each failure as az args one, and then what to do."""
    for event in ended.failed:
        if event.error is not None:
            first, *more = outcome.error_lines(event.error)
            yield "\n  ".join([f"ERROR: {first}", *more])
    for event in ended.skipped:
        if event.because is not None:
            yield f"{event.step.target}: skipped because of {event.because.target}"
    if ended.cancelled:
        yield "ERROR: stopped before it was done. Run the same command again to do the rest."


def _print_made(
    session: Session, backend: Backend, made: Plan, wanted: Iterable[Resource], args: WriteArgs
) -> None:
    """What was written, as it is now."""
    named = {id(one.document) for one in wanted}
    addresses = [
        change.address
        for change in made.changes
        if change.resource is not None
        and change.resource.owner is None
        and id(change.resource.document) in named
    ]
    live = backend.read(addresses)
    _print_live(session, backend, [live[one] for one in addresses if one in live], args)


def _print_live(session: Session, backend: Backend, live: Iterable[Live], args: WriteArgs) -> None:
    """Resources as they are: one as an object, several as a list."""
    found = list(live)
    shown = [resources.resource(one, backend.scope) for one in found]
    columns = kind_of(found[0].address).columns if found else None
    data = shown[0] if len(shown) == 1 else shown
    print_data(session, data, args.output, args.query, columns)
