"""The az-style commands that write: their documents are planned and applied like files."""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from mlctl import source
from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.az import documents
from mlctl.cli.az.apply_plan import carry_out, plan_and_apply, print_live, why_not
from mlctl.cli.az.args import WriteArgs
from mlctl.cli.az.documents import NewFindings, ResourceFlags
from mlctl.cli.az.read import address_of, not_found, read_any, read_live
from mlctl.cli.shell import Exit, Session, UsageError
from mlctl.cli.shell.output import print_plan
from mlctl.cli.shell.rule_choice import ignored, new_report
from mlctl.cli.shell.workflow import settle_s
from mlctl.config import graph
from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig, Loader
from mlctl.dataclasses import replace
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, Address, Kind, kind_of, routes
from mlctl.kinds.address import own_address
from mlctl.kinds.facts import Flag
from mlctl.kinds.registry import by_schema
from mlctl.kinds.resource import build
from mlctl.planning.live_state import users_of
from mlctl.planning.model import Plan
from mlctl.planning.refresh import find_children
from mlctl.planning.removal import removal
from mlctl.planning.running_jobs import with_running_jobs
from mlctl.pointer import Pointer, put
from mlctl.schema.text import nearest
from mlctl.service_errors import NotFound
from mlctl.source import Document, SourceFile
from mlctl.source.overlay import FlagValue, with_flag_values
from mlctl.workflow.model import Planned, wait_until_settled


def create(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Create what the file and the flags say, or change what exists to it."""
    if kind.arm.shared_with:
        kind = _kind_of_compute(kind, args)
    args = _for_kind(kind, args, kind.az.create_flags)
    _check_flags(kind, args)
    typed = ResourceFlags.of(kind, kind.az.create_flags, args)
    report = new_report(session, args.ignore)
    with session.backend(args.registry_name) as backend:
        loader = session.loader(
            report,
            kind,
            scope=backend.scope,
            planning=True,
            edit=lambda document, _kind: documents.document_to_create(document, typed),
            scripts=not args.skip_script_validation,
        )
        loaded = _load(loader, args)
        if args.if_not_exists and not loaded.report.failed:
            existing = backend.read([resource.address for resource in loaded.resources])
            if len(existing) == len(loaded.resources):
                session.note("It already exists and was not changed.")
                print_live(session, backend, existing.values(), args)
                return Exit.OK
            remaining = (
                resource
                for resource in loaded.graph.resources.values()
                if (resource.owner or resource.address) not in existing
            )
            built = graph.build(remaining, backend.scope)
            loaded = replace(loaded, graph=replace(built, secrets=loaded.graph.secrets))
        if args.set_default:
            loaded = replace(loaded, graph=_with_defaults(loaded, backend))
        return plan_and_apply(session, backend, loaded, args)


def update(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Change the fields of a live resource that the flags and the file name, and no others."""
    args = _with_names_set(args)
    with session.backend(args.registry_name) as backend:
        if kind.arm.shared_with:
            kind = KINDS[read_live(backend, address_of(kind, args)).address.kind]
            args = _for_kind(kind, args, kind.az.update_flags)
        typed = ResourceFlags.of(kind, kind.az.update_flags, args)
        report = NewFindings(ignored(session, args.ignore))

        def edit(document: Document, kind_: Kind) -> Document:
            address = _address(document, kind_, args)
            live = read_live(backend, address)
            if wait_until_settled(
                backend, {address: live}, timeout=settle_s(session), note=session.note
            ):
                live = read_live(backend, address)  # while it changes, it shows only a part
            report.known |= _known_findings(live, session, backend)
            return documents.document_to_update(document, live, backend.scope, typed, report)

        loader = session.loader(report, kind, scope=backend.scope, planning=True, edit=edit)
        return plan_and_apply(session, backend, _load(loader, args), args, edited=True)


def delete(session: Session, kind: Kind, args: WriteArgs) -> Exit:
    """Delete a resource with all its children; a missing one is not an error.

    Azure answers a DELETE of nothing with 204, and scripts delete what may not exist.
    """
    address = address_of(kind, args)
    with session.backend() as backend:
        if kind.arm.shared_with:
            resource = read_any(backend, address)
            live = {resource.address: resource} if resource else {}
            address = resource.address if resource else address
        else:
            live = backend.read([address, address.up] if address.up else [address])
        if address not in live:
            session.note(_nothing_to_delete(backend, address))
            session.journals.settle(backend, [address])
            return Exit.OK
        plan = _removal(session, backend, live, address)
        if args.dry_run:
            print_plan(session, plan, args.output)
            return why_not(plan)
        session.show_findings((*plan.errors, *plan.warnings), ignored(session, args.ignore))
        if plan.errors:
            return why_not(plan)
        agreed = args.yes or not kind.az.asks or session.settings.truth("disable_confirm_prompt")
        if not agreed and not session.confirmed(f"Delete {live[address].address}?"):
            return Exit.ERROR
        return carry_out(session, backend, Planned(plan, Graph({}, ())), args)


def _removal(
    session: Session, backend: Backend, live: Mapping[Address, Live], address: Address
) -> Plan:
    """Plan to delete a resource with its children and the affected jobs."""
    children = find_children(backend)
    users = users_of(children.values(), backend.scope)
    plan = removal(
        live[address],
        {**children, **live},
        backend.name,
        backend.scope,
        users,
        session.settings.project.ownership(),
    )
    return with_running_jobs(plan, users, backend)


def _nothing_to_delete(backend: Backend, address: Address) -> str:
    """Return the note about a missing name, which may be misspelt."""
    try:
        names = [live.address.name for live in backend.list(address.kind, address.parent)]
    except NotFound:  # the parent is missing, too
        names = []
    near = nearest(address.name, [name for name in names if name != address.name])
    suggestion = f" Did you mean `{near}`?" if near else ""
    place = f"in workspace {backend.scope.workspace}"
    return f"There is no {address} {place}: there is nothing to delete.{suggestion}"


def _switch(
    session: Session, kind: Kind, args: WriteArgs, *, at: Pointer, verb: str, value: bool
) -> Exit:
    """Set one field of the named resource, or of all its versions."""
    with session.backend(args.registry_name) as backend:
        report = NewFindings(ignored(session, args.ignore))
        read = []
        for live in _versions(backend, kind, args):
            report.known |= _known_findings(live, session, backend)
            read.append(documents.as_document(live, backend.scope))

        def edit(document: Document, _kind: Kind) -> Document:
            typed = FlagValue(at, value, verb, str(document.data["name"]))
            data = copy.deepcopy(document.data)
            put(data, at, value)
            return with_flag_values(data, [typed], document)

        loader = session.loader(report, kind, scope=backend.scope, planning=True, edit=edit)
        loaded = loader.check(
            [(SourceFile(document.source.name, explicit=True), document) for document in read]
        )
        return plan_and_apply(session, backend, loaded, args, silent=kind.versioned)


COMMANDS: Mapping[str, Callable[[Session, Kind, WriteArgs], Exit]] = {
    "create": create,
    "update": update,
    "delete": delete,
    "archive": partial(_switch, at=("is_archived",), verb="archive", value=True),
    "restore": partial(_switch, at=("is_archived",), verb="restore", value=False),
    "enable": partial(_switch, at=("is_enabled",), verb="enable", value=True),
    "disable": partial(_switch, at=("is_enabled",), verb="disable", value=False),
}


def _kind_of_compute(kind: Kind, args: WriteArgs) -> Kind:
    """Return the kind for the type of the flag or of the file: others share the collection."""
    declared = args.fields.get("type")
    for sharing in (KINDS[name] for name in kind.arm.shared_with):
        if declared is None and args.file is not None:
            read = _peek(args.file)
            is_other = any(
                by_schema(item.data) is sharing or sharing.inferred(item.data) for item in read
            )
        else:
            is_other = sharing.inferred({"type": declared})
        if is_other:
            return sharing
    return kind


def _peek(file: str) -> list[Document]:
    """Read the documents of a file, or of standard input, which can be read again afterwards."""
    if file != "-":
        return source.read(Path(file), Report())
    text = sys.stdin.buffer.read(source.MAX_BYTES + 1)
    sys.stdin = io.TextIOWrapper(io.BytesIO(text))
    return source.load("<stdin>", text, Report())


def _for_kind(kind: Kind, args: WriteArgs, flags: Sequence[Flag]) -> WriteArgs:
    """The arguments of a compute instance, which takes `flags`; of other kinds as they are."""
    if not kind.arm.within:
        return args
    user = {"user_object_id": args.user_object_id, "user_tenant_id": args.user_tenant_id}
    fields = {name: text for name, text in {**user, **args.fields}.items() if text is not None}
    for name in fields.keys() - {flag.parameter for flag in flags}:
        raise UsageError(f"--{name.replace('_', '-')} is not for a {kind.title}.")
    return replace(args, fields=fields, user_object_id=None, user_tenant_id=None)


def _check_flags(kind: Kind, args: WriteArgs) -> None:
    """Refuse flags that exclude each other, are not for the kind, or are missing without a file."""
    if args.no_wait and args.set_default and kind.az.route_flag is not None:
        flag = kind.az.route_flag.names[0]
        raise UsageError(f"{flag} does not work with --no-wait: the result must be read back.")
    instances_only = {
        "--user-object-id": args.user_object_id,
        "--user-tenant-id": args.user_tenant_id,
    }
    for flag, value in instances_only.items():
        if value is not None:
            raise UsageError(f"{flag} is only valid for type ComputeInstance.")
    values = {**args.fields, "name": args.name}
    absent = [name for name in kind.az.required_flags if values.get(name) is None]
    if args.file is None and absent:
        flags = ", ".join(f"--{name}" for name in absent)
        raise UsageError(f"the following arguments are required without --file: {flags}")


def _with_names_set(args: WriteArgs) -> WriteArgs:
    """Return the arguments with the names that `--set` gives to the resource of a file."""
    if args.file is None:
        return args
    pairs = [text.partition("=") for typed in args.set_ or () for text in typed.values]
    values = {name: text for name, _, text in pairs}
    return replace(
        args,
        name=values.get("name", args.name),
        endpoint_name=values.get("endpoint_name", args.endpoint_name),
        version=values.get("version", args.version),
    )


def _load(loader: Loader, args: WriteArgs) -> LoadedConfig:
    if args.file is not None:
        return loader.load([args.file])
    blank = documents.NO_FILE
    return loader.check([(SourceFile(blank.source.name, explicit=True), blank)])


def _address(document: Document, kind: Kind, args: WriteArgs) -> Address:
    """Return the address from the flags and the file, flags over the file."""

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
        raise UsageError(f"the following arguments are required unless the file has them: {flags}")
    return address_of(kind, whole)


def _known_findings(live: Live, session: Session, backend: Backend) -> frozenset[tuple[str, str]]:
    """Return the codes and messages of a resource's current findings."""
    report = Report()
    kind = KINDS[live.address.kind]
    document = documents.as_document(live, backend.scope)
    loader = session.loader(report, kind, scope=backend.scope)
    loader.check([(SourceFile(document.source.name, explicit=True), document)])
    return frozenset((finding.rule.code, finding.message) for finding in report)


def _versions(backend: Backend, kind: Kind, args: WriteArgs) -> Sequence[Live]:
    """Return the named version, or all of them."""
    address = address_of(kind, args)
    if address.version is not None or args.label is not None:
        return [read_live(backend, address)]
    every = [live for live in backend.list(kind.name) if live.address.at(None) == address]
    if not every:
        raise not_found(backend, address)
    return every


def _with_defaults(loaded: LoadedConfig, backend: Backend) -> Graph:
    """Add the resources' parents to the graph, which send all their requests to them."""
    addresses = [resource.address for resource in loaded.resources]
    live = backend.read([address.up for address in addresses if address.up is not None])
    parents = []
    for address in addresses:
        parent = live.get(address.up) if address.up else None
        flag = kind_of(address).az.route_flag
        if parent is not None and flag is not None:
            kind = kind_of(parent.address)
            document = documents.as_document(parent, backend.scope)
            data = copy.deepcopy(dict(document.data))
            first = kind.route_fields[0]
            alone = routes.value(first, routes.shares(address.name))
            put(data, first.at, alone)
            value = FlagValue(first.at, alone, flag.names[0], address.name)
            parents.append(build(with_flag_values(data, [value], document), kind))
    every = (
        *loaded.graph.resources.values(),
        *(resource for resource in parents if resource is not None),
    )
    built = graph.build(every, backend.scope)
    return replace(built, secrets=loaded.graph.secrets)
