"""What advice reads in the workspace and writes into files: quotas, patches, their plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mlctl.cli.change.planning import load_and_plan, show_plan
from mlctl.cli.forecast.output import ForecastFormat
from mlctl.cli.shell import Session
from mlctl.cli.shell.rule_choice import new_report
from mlctl.cli.shell.scope import ScopeError
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent, ServiceError

if TYPE_CHECKING:
    from mlctl.forecast.batch.reading import Subject
    from mlctl.forecast.quotas import Quotas
    from mlctl.pointer import Data


def quotas(session: Session, subject: Subject) -> Quotas:
    """The quotas of the workspace; the documented ones, which is said, where none answers."""
    from mlctl.forecast import quotas as known

    why = "it tells none"
    try:
        with session.backend() as backend:
            live = known.live(subject, backend)
        if live is not None:
            return live
    except (ServiceError, ScopeError) as error:
        why = str(error)
    session.note(clean(f"the quotas of the workspace are not known: {why}"))
    return known.documented(subject)


def patch(
    session: Session,
    subject: Subject,
    settings: Mapping[str, Data],
    paths: Sequence[str],
    output: ForecastFormat,
) -> None:
    """Write settings into the files that say them, and show what `mlctl plan` says of that.

    Raises:
        Permanent: a file cannot be written.
    """
    from mlctl import files
    from mlctl.forecast.advice.patch import patched

    changed, unwritten = patched(subject, settings)
    named = files.places([*(paths or ["."]), *session.settings.project.overlay_folders])
    for rewrite in changed:
        file = rewrite.path
        try:
            rewrite.write(named)
        except OSError as error:
            raise Permanent("CannotWrite", f"cannot write `{file}`: {error.strerror}") from None
        session.note(f"wrote {file}")
    for name, why in unwritten.items():
        session.note(f"{name} is left: {why}; change it where it is said")
    if changed:
        _show_plan(session, paths, output)


def _show_plan(session: Session, paths: Sequence[str], output: ForecastFormat) -> None:
    """The plan of the files as they are now, on stdout after advice for people, else on stderr."""
    try:
        with session.backend() as backend:
            planned = load_and_plan(session, backend, paths, new_report(session, None))
    except (ServiceError, ScopeError) as error:
        session.note(clean(f"there is no plan of that, for the workspace cannot be read: {error}"))
        return
    if planned is None:
        return
    if output is ForecastFormat.HUMAN:
        session.out("")
        show_plan(session, planned)
    else:
        session.show_plan(planned.plan)
