"""`mlctl render`: files as an environment has them."""

from __future__ import annotations

from mlctl import masking, source
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.render.terminal.terminal import clean


def render(session: Session, paths: Paths, ignore: Ignore = None) -> Exit:
    """Print the documents with overlays and variables applied, and secrets as `***`."""
    report = new_report(session, ignore)
    loaded = session.loader(report).load(paths)
    for note in loaded.notes:
        session.note(clean(f"note: {note}"))
    session.show(report)
    if report.failed:
        return Exit.ERROR
    parts = [
        f"# {clean(document.place)}\n{source.dump_inert(masking.masked(document.data))}"
        for document in (resource.document for resource in loaded.resources)
    ]
    session.out_data("---\n".join(parts))
    return Exit.OK


COMMANDS = {"render": render}
