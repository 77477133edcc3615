"""`mlctl graph`: files as a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mlctl.cli.files.validate import Paths
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import new_report
from mlctl.cli.shell.session import Session
from mlctl.render.terminal.terminal import clean


class Picture(StrEnum):
    """The formats of a picture."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(graph)


def graph(
    session: Session,
    paths: Paths,
    output: Annotated[
        Picture,
        typer.Option("--output", "-o", help="A tree of text, or a picture: mermaid, dot or svg."),
    ] = Picture.TEXT,
) -> Exit:
    """Draw the resources of files and what they refer to, and the steps of pipelines.

    An arrow of a pipeline is data: from the step that writes it to the step that reads it.
    """
    from mlctl.render.graph import drawing, markup, svg, text

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
    draw = {
        Picture.TEXT: text.text,
        Picture.MERMAID: markup.mermaid,
        Picture.DOT: markup.dot,
        Picture.SVG: svg.svg,
    }
    session.out(draw[output](panels).rstrip("\n"))
    return Exit.OK
