"""`mlctl environment check`: find what would fail the build of an image, within seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlctl import files, source
from mlctl.cli.files.retirements import report_retired
from mlctl.cli.files.validate import FindingsFormat, print_findings
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.rule_choice import Ignore, Strict, new_report
from mlctl.config.graph import inline_assets
from mlctl.config.rules import environments as rules
from mlctl.config.rules.environments import PackageLine, conda_lines
from mlctl.config.rules.paths import MISSING_PATH
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Label, Report, SourceText, Span
from mlctl.kinds import Resource
from mlctl.kinds.records.batch_deployment import KIND as BATCH_DEPLOYMENT
from mlctl.kinds.records.environment import KIND as ENVIRONMENT
from mlctl.kinds.resource import local_path
from mlctl.pointer import Pointer
from mlctl.render.terminal.terminal import clean
from mlctl.running.environments import python_of
from mlctl.running.model import RunError
from mlctl.schema.text import counted
from mlctl.source import Document

_DEFAULT = "3.10"  # of the base images that Azure names
_FROM_LOADER = (rules.NO_DRIVER, rules.NO_SERVER, MISSING_PATH)
_IMAGE_PYTHON = re.compile(r"\bpython:(3\.\d+)|\bpy(?:thon)?(3)\.?(\d{1,2})\b")
_FILE = re.compile(r"(?:\s-r|--requirement|\s-f|--file|\s-c)[ =](\S+\.(?:txt|ya?ml))")
_PACKAGE = re.compile(r"(?<=['\"\s])[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:[=<>!~]=?[^\s'\"\\;&]+)?")
_LISTED = re.compile(r"(?:-r|--requirement)[ =]*(\S+)")
_MOST = 1 << 20  # bytes of a file


@dataclass(slots=True)
class Build:
    """What an image is built from: its packages by line, and all lines that name something.

    Files that are `read` apply to all builds. `by_driver`: a batch deployment runs scripts in it,
    which still needs packages of the SDK v1.
    """

    name: str
    folder: Path
    report: Report
    read: set[Path]
    image: str = ""
    by_driver: bool = False
    packages: list[PackageLine] = field(default_factory=list)
    lines: list[Label] = field(default_factory=list)
    listed: set[Path] = field(default_factory=set)  # files of requirements that others name

    @property
    def python(self) -> str | None:
        """Return the version of Python that it names."""
        of_conda = [python_of(line.text) for line in self.packages if line.of_conda]
        match = _IMAGE_PYTHON.search(self.image)
        in_image = match and (match[1] or f"{match[2]}.{match[3]}")
        return next(filter(None, of_conda), in_image)

    def used(self) -> Iterator[Label]:
        """Return the lines, except those that the driver of batch deployments needs."""
        for line in self.lines:
            if not (self.by_driver and re.search(r"\bazureml-core\b", line.span.text)):
                yield line

    def add_conda(self, document: Document, at: Pointer = ()) -> None:
        """Add a conda specification."""
        for line in conda_lines(document, at):
            self._add_package(line, document.folder)

    def add_file(self, path: Path, context: Path | None = None) -> Build:
        """Add a conda file, requirements or (with a context) a Dockerfile, if it exists."""
        if not files.is_file(path):
            return self
        self.folder = path.parent
        self.read.add(files.real(path))
        if context is not None:
            self._add_docker(path, context)
        elif path.suffix != ".txt":
            for document in source.read(path, self.report)[:1]:
                self.add_conda(document)
        else:
            self.listed.add(files.real(path))
            self._add_requirements(path)
        return self

    def _add_requirements(self, path: Path) -> None:
        text = _text(path)
        for number, line in enumerate(text.lines):
            bare = re.sub(r"(?:^|\s)#.*|\\\s*$|\s--hash\S*", "", " " + line)[1:]
            if bare.strip():
                self._add_package(
                    PackageLine(bare.strip(), _label(text, number, bare)), path.parent
                )

    def _add_package(self, line: PackageLine, folder: Path) -> None:
        """Add a line of packages, or the contents of a requirements file that it names."""
        self.lines.append(line.label)
        match = None if line.of_conda else _LISTED.fullmatch(line.text)
        if match is None:
            self.packages.append(line)
        elif files.is_file(path := folder / match[1]) and files.real(path) not in self.listed:
            self.listed.add(files.real(path))
            self.read.add(files.real(path))
            self._add_requirements(path)

    def _add_docker(self, path: Path, context: Path) -> None:
        """Add what a Dockerfile names: images, packages that pip installs, files of both."""
        text = _text(path)
        installs = False
        for number, line in enumerate(text.lines):
            if line.lstrip().startswith("#"):
                continue
            self.image = line if line.startswith("FROM ") else self.image
            self.lines.append(_label(text, number, line))
            for match in _FILE.finditer(line):
                places = (context / match[1], context / Path(match[1]).name)
                self.add_file(next(filter(files.is_file, places), places[0]))
            start = line.find("pip install")
            installs = installs or start >= 0
            end = re.compile("&&|;|$").search(line, max(start, 0))
            part = " " * (start + 11 if start >= 0 else 0)
            part += line[len(part) : end.start() if end else None] if installs else ""
            for match in _PACKAGE.finditer(part):
                if not match[0].endswith((".txt", ".yml", ".yaml")):
                    at = Span(text, number, match.start(), number, match.end())
                    self.packages.append(PackageLine(match[0], Label(at)))
            installs = installs and line.rstrip().endswith("\\") and "&&" not in line[start + 1 :]


def check(
    session: Session,
    paths: list[str] = argument(metavar="PATH|NAME..."),
    resolve: bool = flag(default=False),
    python: str | None = flag(metavar="VERSION"),
    output: FindingsFormat = flag("-o", default="human"),
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Check whether an environment's image will build, before you wait for a build on Azure."""
    if python is not None and not re.fullmatch(r"3\.\d{1,2}", python):
        raise InvalidValue(f"`{python}` is no version of Python: write 3.12", flag="--python")
    report = new_report(session, ignore, None, strict=strict)
    builds = [build for build in _builds(session, report, paths) if build.lines]
    for build in builds:
        report.extend(rules.unbuildable(build.packages))
        report.extend(report_retired(build.used(), session.today))
        if resolve and build.packages:
            report.extend(_resolve(session, build, python))
    session.note(f"checked {counted(len(builds), 'environment')}")
    names = {line.span.source.name for build in builds for line in build.lines}
    print_findings(session, report, output, len(names))
    return Exit.ERROR if report.failed else Exit.OK


def _resolve(session: Session, build: Build, python: str | None) -> Iterator[Diagnostic]:
    from mlctl.running.resolution import failures

    version = build.python or python or _DEFAULT
    notes: list[str] = []
    if build.python is None:
        notes.append(f"it names no Python: {version} is assumed")
    try:
        yield from failures(build.packages, version, build.folder, notes)
    except RunError as error:
        raise InvalidValue(str(error), flag="--resolve") from None
    for note in notes:
        session.note(clean(f"note: {build.name}: {note}"))


def _builds(session: Session, report: Report, paths: Sequence[str]) -> Iterator[Build]:
    """Return what images are built from, each file once."""
    read: set[Path] = set()
    documents: list[str] = []
    for text in paths:
        path = Path(text)
        build = Build(text, path.parent, report, read)
        if not path.exists() and not re.search(r"[/*?]|\.ya?ml$|\.txt$", text):
            yield _of_workspace(session, build)
        elif re.match(r"(?i)(?:.*\.)?dockerfile", path.name) and files.is_file(path):
            yield build.add_file(path, path.parent)
        elif path.suffix == ".txt" or _is_conda(path):
            yield build.add_file(path)
        else:
            documents.append(text)
    if not documents:
        return
    loading = Report(select=frozenset(rule.code for rule in _FROM_LOADER) | {"MLC0"})
    loaded = session.loader(loading).load(documents)
    report.extend(
        finding
        for finding in loading
        if finding.rule is not MISSING_PATH or "conda" in finding.message
    )
    for owner in (*loaded.resources, *loaded.components):
        for resource in (owner, *inline_assets(owner)):
            if resource.kind is ENVIRONMENT:
                build = Build(str(owner.address), resource.document.folder, report, read)
                yield _of_resource(build, owner, resource)
    for file in (Path(file.path) for file in source.discover(documents, Report())):
        if files.is_file(file) and files.real(file) not in read and _is_conda(file):
            yield Build(str(file), file.parent, report, read).add_file(file)


def _of_resource(build: Build, owner: Resource, resource: Resource) -> Build:
    build.image = resource.text("image") or ""
    build.by_driver = owner.kind is BATCH_DEPLOYMENT
    if build.image:
        build.lines.append(resource.label(("image",)))
    conda, context, folder = (
        resource.get("conda_file"),
        resource.text("build", "path"),
        build.folder,
    )
    if isinstance(conda, dict):
        build.add_conda(resource.document, (*resource.root, "conda_file"))
    elif isinstance(conda, str):
        build.add_file(folder / local_path(conda))
    if context:
        place = folder / local_path(context)
        docker = resource.text("build", "dockerfile_path") or "Dockerfile"
        build.add_file(place / docker, place)
    return build


def _label(text: SourceText, number: int, line: str) -> Label:
    start = len(line) - len(line.lstrip())
    return Label(Span(text, number, start, number, len(line.rstrip())))


def _text(path: Path) -> SourceText:
    return SourceText(str(path), files.read(path, _MOST).decode("utf-8-sig", "replace"))


def _is_conda(path: Path) -> bool:
    """Whether a file is a conda file: it lists dependencies, and is not one of Azure."""
    try:
        data = source.plain(_text(path).text)
    except (OSError, ValueError):
        return False
    return (
        isinstance(data, dict)
        and isinstance(data.get("dependencies"), list)
        and "$schema" not in data
    )


def _of_workspace(session: Session, build: Build) -> Build:
    """Read an environment of the workspace."""
    from mlctl.cli.az.read import read_live
    from mlctl.kinds import Address

    name, _, version = build.name.removeprefix("azureml:").removesuffix("@latest").partition(":")
    with session.backend() as backend:
        live = read_live(backend, Address("environment", name, None, version or None))
    body = live.body.get("properties", {})
    place, conda = str(live.address), str(body.get("condaFile") or "")
    build.image = str(body.get("image") or "")
    if build.image:
        text = SourceText(place, f"image: {build.image}")
        build.lines.append(_label(text, 0, text.text))
    for document in source.load(place, conda, build.report, explicit=False)[:1]:
        build.add_conda(document)
    return build


COMMANDS = {"check": check}
