"""`mlctl convert`: Batch Pools of a retired service to compute clusters."""

from __future__ import annotations

from pathlib import Path

from mlctl import files, source
from mlctl.cli.files import convert_pool as to_cluster
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import new_report
from mlctl.kinds import Resource
from mlctl.source import SourceFile

_NAME = "<converted>"


def convert(
    session: Session,
    paths: Paths,
    out: Path | None = flag("-o", metavar="FILE"),
    size: str = flag(default=to_cluster.SIZE, metavar="SIZE"),
) -> Exit:
    """Convert Batch pools to compute clusters, and report the differences.

    Batch pools belonged to Machine Learning Studio (classic), which is retired. A cluster keeps as
    many nodes as its pool had VMs; comments list the other differences. The generated files are
    validated like any others.
    """
    pools = _pools(session, paths)
    if not pools:
        return Exit.ERROR
    names = to_cluster.names(pool.address.name for pool in pools)
    text = "---\n".join(to_cluster.convert(*pair, size) for pair in zip(pools, names, strict=True))
    if not _valid(session, text):
        return Exit.ERROR
    return _write(session, text, out)


def _pools(session: Session, paths: list[str]) -> list[Resource]:
    """Return the pools of the files; none, after printing why, if something is wrong."""
    report = new_report(session)
    loaded = session.loader(report).load(paths)
    if report.failed:
        session.show(report)
        return []
    pools = [resource for resource in loaded.resources if resource.kind.retired_service]
    for resource in loaded.resources:
        if resource not in pools:
            session.note(
                f"{resource.document.place}: skipped, {resource.address} needs no successor"
            )
    if not pools:
        session.say("ERROR: these files have no Batch Pool; nothing else is converted.")
    return pools


def _valid(session: Session, text: str) -> bool:
    """Whether the converted files are valid; prints the findings."""
    report = new_report(session)
    documents = source.load(_NAME, text, report)
    file = SourceFile(_NAME, explicit=True)
    session.loader(report).check([(file, document) for document in documents])
    if report.failed or not session.quiet:
        session.show(report)
    return not report.failed


def _write(session: Session, text: str, out: Path | None) -> Exit:
    if out is None:
        session.out_data(text)
        return Exit.OK
    try:
        files.write(out, text.encode())
    except OSError as error:
        session.say(f"ERROR: cannot write {out}: {error.strerror}")
        return Exit.ERROR
    session.note(f"{out}: written; check it with `mlctl validate {out}`")
    return Exit.OK


COMMANDS = {"convert": convert}
