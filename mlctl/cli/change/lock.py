"""`mlctl lock`: who applies to the workspace now, and what to do when nobody does any more."""

from __future__ import annotations

from datetime import UTC, datetime

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Lease, Leases, SupportsLeases
from mlctl.cli.change.execution import Yes
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.render.apply import leases
from mlctl.service_errors import Permanent
from mlctl.source.files import PROJECT_FILE

NONE_HELD = "No lease is held: no project is being applied to this workspace."


def show(session: Session, output: Output = "table", query: Query = None) -> None:
    """Show the workspace's leases, for every project: who is applying, since when, with what."""
    with session.backend() as backend:
        documents = [leases.document(lease) for lease in _leases(backend).held()]
    if not documents:
        session.note(NONE_HELD)
    if documents or output != "table":
        print_data(session, documents, output, query, leases.COLUMNS)


def break_(
    session: Session,
    project: str | None = flag(metavar="NAME"),
    older_than: str = flag(default="0s", metavar="DURATION"),
    yes: Yes = False,
) -> Exit:
    """Break the lease of a project whose holder is stuck."""
    name = project or session.settings.project.text("project")
    if name is None:
        raise UsageError(f"give --project, or name one in {PROJECT_FILE}")
    age = duration(older_than)
    with session.backend() as backend:
        store = _leases(backend)
        lease = next((lease_ for lease_ in store.held() if lease_.project == name), None)
        if lease is None:
            session.say(f"Nothing to break: the lease of `{name}` is not held.")
            return Exit.OK
        for fact in leases.facts(lease):
            session.say(fact)
        if datetime.now(UTC).timestamp() - lease.since < age:
            session.say(f"Not broken: it has not been held for longer than {older_than}.")
            return Exit.OK
        return _break(session, store, lease, yes=yes)


def _break(session: Session, store: Leases, lease: Lease, *, yes: bool) -> Exit:
    if not (yes or session.confirmed(f"Break the lease of `{lease.project}`?")):
        return Exit.ERROR
    if not store.break_(lease):
        session.say("Not broken: it has ended, and another may hold it: mlctl lock show")
        return Exit.ERROR
    session.say(f"The lease of `{lease.project}` is broken: the next apply may take it.")
    return Exit.OK


def _leases(backend: Backend) -> Leases:
    if not isinstance(backend, SupportsLeases):
        raise Permanent("NoLeases", f"the {backend.name} backend has no leases")
    return backend.leases


COMMANDS = {
    "lock": Group("The leases of projects that are being applied.", {"show": show, "break": break_})
}
