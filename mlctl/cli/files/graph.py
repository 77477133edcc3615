"""`mlctl graph` draws what files declare; `mlctl render` prints it with variables and overlays."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from mlctl import masking, source
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.render.terminal.terminal import clean

if TYPE_CHECKING:
    from mlctl.render.graph.drawing import Panel


_TIMEOUT = 60.0  # seconds that Graphviz may take

Picture: TypeAlias = Literal["text", "mermaid", "dot", "svg"]


def graph(session: Session, paths: Paths, output: Picture = flag("-o", default="text")) -> Exit:
    """Draw the resources in files and the references between them, and the steps of pipelines."""
    from mlctl.render.graph import drawing

    report = new_report(session)
    loaded = session.loader(report).load(paths)
    if report.failed:
        session.show(report)
        return Exit.ERROR
    panels = drawing.panels(loaded.graph, loaded.read)
    for note in loaded.notes:
        session.note(clean(f"note: {note}"))
    if not panels:
        session.say("nothing to draw: the files declare no resource and no pipeline")
        return Exit.OK
    session.out(render_picture(session, panels, output).rstrip("\n"))
    return Exit.OK


def render_picture(session: Session, panels: Sequence[Panel], picture: Picture) -> str:
    """Return a picture in a format; Mermaid's text if Graphviz cannot draw."""
    from mlctl.render.graph import markup

    if picture != "svg":
        return {"text": markup.text, "mermaid": markup.mermaid, "dot": markup.dot}[picture](panels)
    svg = _svg(markup.dot(panels))
    if svg is None:
        session.say("note: Graphviz's `dot` draws no SVG here; this is Mermaid's text")
    return svg or markup.mermaid(panels)


def _svg(dot: str) -> str | None:
    """Draw a picture with Graphviz; None if it is missing, or fails."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        process = subprocess.run(  # noqa: S603 - the user's own Graphviz, on text without paths
            [program, "-Tsvg"],
            input=dot.encode(),
            capture_output=True,
            check=True,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.decode("utf-8", "replace")


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


COMMANDS = {"graph": graph, "render": render}
