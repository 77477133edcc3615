"""The lease under which a project is applied: the flags about it, and who asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from mlctl.applying.lease import Wanted, holder
from mlctl.backends.ports.lease import Lease
from mlctl.cli.shell.durations import duration
from mlctl.cli.shell.session import Session
from mlctl.render.apply import leases
from mlctl.source.files import PROJECT_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class LockArgs:
    """The flags about the lease of the commands that write what files declare."""

    lock_timeout: Annotated[
        str | None,
        typer.Option(
            "--lock-timeout",
            metavar="DURATION",
            help="How long to wait while another apply of the project runs (10m).",
        ),
    ] = None
    no_lock: Annotated[
        bool, typer.Option("--no-lock", help="Take no lease, even where others may apply at once.")
    ] = False

    def wanted(self, session: Session, verb: str, paths: Sequence[str]) -> Wanted | None:
        """The lease of the project that `mlctl.yml` names; None without one, and with --no-lock.

        Raises:
            ProjectError: `mlctl.yml` cannot be used.
            InvalidValue: the time to wait is no duration.
        """
        timeout = duration(self.lock_timeout) if self.lock_timeout is not None else 0.0
        project = session.settings.project.text("project")
        if project is None and self.lock_timeout is not None:
            session.note(f"{PROJECT_FILE} names no `project`: there is no lease to wait for.")
        if project is None or self.no_lock:
            return None

        def waiting(lease: Lease) -> None:
            session.note(f"Waiting up to {self.lock_timeout} for the lease of `{project}`:")
            for fact in leases.facts(lease):
                session.note(f"  {fact}")

        me = holder(" ".join(["mlctl", verb, *paths]), session.environment)
        return Wanted(project, me, timeout, waiting)
