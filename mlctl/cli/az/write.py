"""The az-style verbs that write: a document, a plan, an apply, as for files. No second path."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.apply import Run, actions_of, perform
from mlctl.cli.az import documents
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

Words = Mapping[str, Any]


def create(session: Session, kind: Kind, words: Words) -> Exit:
    """Create what the file and the flags say, or bring what is there to it."""
    _refuse_what_excludes(kind, words)
    typed = Typed.of(kind, kind.create_flags, words)
    report = Report()
    with session.backend() as backend:
        loader = Loader(
            report,
            session.today,
            kind,
            backend.scope,
            planning=True,
            edit=lambda document, _kind: documents.created(document, typed),
            scripts=not words.get("skip_script_validation"),
        )
        loaded = _load(loader, words)
        if words.get("if_not_exists") and not loaded.report.failed:
            there = backend.read([one.address for one in loaded.resources])
            if len(there) == len(loaded.resources):
                session.note("It is there already, and stays as it is.")
                _print_live(session, backend, there.values(), words)
                return Exit.OK
            loaded = replace(loaded, graph=_without(loaded.graph, there, backend))
        if words.get("set_default"):
            loaded = replace(loaded, graph=_with_defaults(loaded, backend))
        return _finish(session, backend, loaded, words)


def update(session: Session, kind: Kind, words: Words) -> Exit:
    """Change a live resource, and nothing that was not asked for."""
    typed = Typed.of(kind, kind.update_flags, words)
    with session.backend() as backend:
        report = Novelties()

        def edit(document: Document, one: Kind) -> Document:
            live = found(backend, _meant(document, one, words))
            report.known |= _said_of(live, session, backend)
            return documents.updated(document, live, backend.scope, typed, report)

        loader = Loader(report, session.today, kind, backend.scope, planning=True, edit=edit)
        return _finish(session, backend, _load(loader, words), words)


def archive(session: Session, kind: Kind, words: Words) -> Exit:
    """Archive a version of an asset, or all of them; they stay usable by name and version."""
    return _archive(session, kind, words, archived=True)


def restore(session: Session, kind: Kind, words: Words) -> Exit:
    """Undo what `archive` did."""
    return _archive(session, kind, words, archived=False)


def delete(session: Session, kind: Kind, words: Words) -> Exit:
    """Delete one resource, with all that is beneath."""
    address = address_of(kind, words)
    with session.backend() as backend:
        live = backend.read([address, address.up] if address.up else [address])
        if address not in live:
            raise missing(backend, address)
        made = removal(live[address], live, backend.name, backend.scope, find_users(backend))
        if words.get("dry_run"):
            print_plan(session, made, words.get("output"))
            return Exit.ERROR if made.rejections else Exit.OK
        if made.rejections:
            session.show_rejections(made)
            return Exit.ERROR
        agreed = words["yes"] or session.settings.truth("disable_confirm_prompt")
        if not agreed and not session.confirmed(f"Delete {live[address].address}?"):
            return Exit.ERROR
        return _perform(session, backend, made, Graph({}, ()), words)


VERBS: Mapping[str, Callable[[Session, Kind, Words], Exit]] = {
    "create": create,
    "update": update,
    "archive": archive,
    "restore": restore,
    "delete": delete,
}


def _archive(session: Session, kind: Kind, words: Words, *, archived: bool) -> Exit:
    verb = "archive" if archived else "restore"
    with session.backend() as backend:
        report = Novelties()
        read = []
        for live in _versions(backend, kind, words):
            report.known |= _said_of(live, session, backend)
            read.append(documents.as_document(live, backend.scope))

        def edit(document: Document, _kind: Kind) -> Document:
            value = Value(("is_archived",), archived, verb, str(document.data["name"]))
            return lay({**document.data, "is_archived": archived}, [value], document)

        loader = Loader(report, session.today, kind, backend.scope, planning=True, edit=edit)
        loaded = loader.check([(SourceFile(one.source.name, explicit=True), one) for one in read])
        return _finish(session, backend, loaded, {**words, "silent": True})


def _refuse_what_excludes(kind: Kind, words: Words) -> None:
    if words.get("no_wait") and words.get("set_default"):
        raise UsageError("--set-default does not work with --no-wait: it is read back and proved.")
    for name in ("user_object_id", "user_tenant_id"):
        if words.get(name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} is only valid for type ComputeInstance.")
    absent = [name for name in kind.required_flags if words.get(name) is None]
    if words.get("file") is None and absent:
        flags = ", ".join(f"--{name}" for name in absent)
        raise UsageError(f"the following arguments are required without --file: {flags}")


def _load(loader: Loader, words: Words) -> LoadedConfig:
    if words.get("file") is not None:
        return loader.load([words["file"]])
    blank = documents.blank()
    return loader.check([(SourceFile(blank.source.name, explicit=True), blank)])


def _meant(document: Document, kind: Kind, words: Words) -> Address:
    """The address that the flags and the file name together."""
    names = ("name", "endpoint_name", "version")
    said = {name: document.data.get(name) for name in names}
    typed = {name: words[name] for name in names if words.get(name) is not None}
    address = own_address(kind, {**said, **typed})
    if address is None:
        flags = "--name and --endpoint-name" if kind.parent else "--name"
        raise UsageError(
            f"the following arguments are required without a file that says so: {flags}"
        )
    return address_of(kind, {**words, **said, **typed})


def _said_of(live: Live, session: Session, backend: Backend) -> frozenset[tuple[str, str]]:
    """What can be said against a resource as it is."""
    report = Report()
    kind = KINDS[live.address.kind]
    document = documents.as_document(live, backend.scope)
    loader = Loader(report, session.today, kind, backend.scope)
    loader.check([(SourceFile(document.source.name, explicit=True), document)])
    return frozenset((one.rule.code, one.message) for one in report)


def _versions(backend: Backend, kind: Kind, words: Words) -> Sequence[Live]:
    """The version that is named, or all of them."""
    address = address_of(kind, words)
    if address.version is not None or words.get("label") is not None:
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


def _finish(session: Session, backend: Backend, loaded: LoadedConfig, words: Words) -> Exit:
    """From the gate to the end: plan, show, write, read back."""
    report = loaded.report
    if len(report) and (report.failed or not session.quiet):
        session.show(report)
    if report.failed:
        return Exit.ERROR
    made = plan(loaded.graph, refresh(loaded.graph, backend), backend=backend.name)
    if words.get("dry_run"):
        print_plan(session, made, words.get("output"))
        return Exit.ERROR if made.rejections else Exit.OK
    refused = _refused(session, made, words)
    if refused:
        return Exit.ERROR
    if made.empty:
        session.note("No changes: it is so already.")
    elif any(change.action is not Action.CREATE for change in made.pending):
        session.show_plan(made, quiet=session.quiet)
    code = _perform(session, backend, made, loaded.graph, words)
    if code is Exit.OK and not words.get("no_wait") and not words.get("silent"):
        _print_made(session, backend, made, loaded.resources, words)
    return code


def _refused(session: Session, made: Plan, words: Words) -> bool:
    """Whether it is predicted to be rejected, or replaces what nobody asked to replace."""
    if made.rejections:
        session.show_rejections(made)
        return True
    replaced = [change for change in made.changes if change.action is Action.REPLACE]
    if not replaced or words.get("replace"):
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


def _perform(session: Session, backend: Backend, made: Plan, of: Graph, words: Words) -> Exit:
    run = Run(work(made, of), actions_of(made), wait=not words.get("no_wait"))
    ended = perform(session, backend, run)
    for line in _errors(ended):
        session.say(line)
    return Exit.OK if ended.complete else Exit.ERROR


def _errors(ended: Outcome) -> Iterable[str]:
    """Each failure as az words one, and then what to do."""
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
    session: Session, backend: Backend, made: Plan, wanted: Iterable[Resource], words: Words
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
    _print_live(session, backend, [live[one] for one in addresses if one in live], words)


def _print_live(session: Session, backend: Backend, live: Iterable[Live], words: Words) -> None:
    """Resources as they are: one as an object, several as a list."""
    found = list(live)
    shown = [resources.resource(one, backend.scope) for one in found]
    columns = kind_of(found[0].address).columns if found else None
    data = shown[0] if len(shown) == 1 else shown
    print_data(session, data, words.get("output"), words.get("query"), columns)
