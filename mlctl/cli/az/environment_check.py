"""`mlctl environment check`: what fails the build of an image, before minutes have passed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlctl import files, source
from mlctl.cli.files.retirements import retired
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
from mlctl.render.terminal.terminal import clean
from mlctl.running.environments import python_of
from mlctl.running.model import RunError
from mlctl.schema.text import counted
from mlctl.source import Document

_DEFAULT = "3.10"  # of the base images that Azure names
_FROM_LOADER = (rules.NO_DRIVER, rules.NO_SERVER, MISSING_PATH)
_IMAGE_PYTHON = re.compile(r"\bpython:(3\.\d+)|\bpy(?:thon)?(3)\.?(\d{1,2})\b")
_NAMED = re.compile(r"(?:\s-r|--requirement|\s-f|--file|\s-c)[ =](\S+\.(?:txt|ya?ml))")
_TOKEN = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:[=<>!~]=?[^\s'\"\\;&]+)?")
_MOST = 1 << 20  # bytes of a file


@dataclass(slots=True)
class Build:
    """What an image is built of: the packages, in their lines, and all lines that name something.

    `by_driver`: a batch deployment runs scripts in it, which still needs packages of the SDK v1.
    """

    name: str
    folder: Path
    image: str = ""
    by_driver: bool = False
    packages: list[PackageLine] = field(default_factory=list)
    lines: list[Label] = field(default_factory=list)

    @property
    def python(self) -> str | None:
        """The version of Python that it names."""
        of_conda = [python_of(line.text) for line in self.packages if line.of_conda]
        match = _IMAGE_PYTHON.search(self.image)
        in_image = match and (match[1] or f"{match[2]}.{match[3]}")
        return next(filter(None, of_conda), in_image)


def check(
    session: Session,
    paths: list[str] = argument(
        "Documents, conda files, requirements and Dockerfiles, folders of them, or an environment"
        " of the workspace (NAME, NAME:VERSION).",
        metavar="PATH|NAME...",
    ),
    resolve: bool = flag(
        "Ask a package index, too, by uv or pip; nothing is installed.", default=False
    ),
    python: str | None = flag(
        "The version of Python where an environment names none; 3.10 unless given.",
        metavar="VERSION",
    ),
    output: FindingsFormat = flag("How findings are written.", "-o", default=FindingsFormat.HUMAN),
    ignore: Ignore = None,
    strict: Strict = False,
) -> Exit:
    """Find what fails the build of an environment's image, before minutes have passed on Azure.

    Offline: packages that contradict each other, versions that are nowhere, scoring scripts without
    what runs them, Python, images and packages that are retired. With --resolve a package index is
    asked for the packages, for Linux on x86-64 and the Python of the environment. conda's packages
    go by their names on the index; what is not there is said. Exits with 1 where there is an error.
    """
    if python is not None and not re.fullmatch(r"3\.\d{1,2}", python):
        raise InvalidValue(f"`{python}` is no version of Python: write 3.12", flag="--python")
    report = new_report(session, ignore, None, strict=strict)
    builds = list(_builds(session, report, paths))
    for build in builds:
        report.extend(rules.unbuildable(build.packages))
        report.extend(retired(_used(build), session.today))
        if resolve and build.packages:
            report.extend(_resolved(session, build, python))
    builds = [build for build in builds if build.lines]
    session.note(f"checked {counted(len(builds), 'environment')}")
    names = {line.span.source.name for build in builds for line in build.lines}
    print_findings(session, report, output, len(names))
    return Exit.ERROR if report.failed else Exit.OK


def _used(build: Build) -> Iterator[Label]:
    """The lines of a build, without those of what the driver of batch deployments needs."""
    for line in build.lines:
        if not (build.by_driver and re.search(r"\bazureml-core\b", line.span.text)):
            yield line


def _resolved(session: Session, build: Build, python: str | None) -> Iterator[Diagnostic]:
    from mlctl.running.resolution import failures

    version = build.python or python or _DEFAULT
    notes: list[str] = []
    if build.python is None:
        notes.append(f"it names no Python: {version} is taken")
    try:
        yield from failures(build.packages, version, build.folder, notes)
    except RunError as error:
        raise InvalidValue(str(error), flag="--resolve") from None
    for note in notes:
        session.note(clean(f"note: {build.name}: {note}"))


def _builds(session: Session, report: Report, paths: Sequence[str]) -> Iterator[Build]:
    """What images are built of, each file once."""
    documents: list[str] = []
    read_files: set[Path] = set()
    of_files: list[Build] = []
    for path in paths:
        name = Path(path)
        if not name.exists() and not re.search(r"[/*?]|\.ya?ml$|\.txt$", path):
            yield _of_workspace(session, report, path)
        elif re.match(r"(?i)(?:.*\.)?dockerfile", name.name) and files.is_file(name):
            of_files.append(
                _of_docker(Build(path, name.parent), name, name.parent, report, read_files)
            )
        elif name.suffix == ".txt" or (files.is_file(name) and _is_conda(name)):
            of_files.append(_of_file(Build(path, name.parent), name, report, read_files))
        else:
            documents.append(path)
    if documents:
        yield from _of_documents(session, report, documents, read_files)
    yield from of_files


def _of_documents(
    session: Session, report: Report, paths: Sequence[str], read_files: set[Path]
) -> Iterator[Build]:
    """The environments of documents, and the conda files beside them that none of them names."""
    loading = Report(select=frozenset(rule.code for rule in _FROM_LOADER) | {"MLC0"})
    loaded = session.loader(loading).load(paths)
    report.extend(
        finding
        for finding in loading
        if finding.rule is not MISSING_PATH or "conda" in finding.message
    )
    resources = [*loaded.resources, *loaded.components]
    for owner in resources:
        for resource in (owner, *inline_assets(owner)):
            if resource.kind.name == "environment":
                yield _of_resource(owner, resource, report, read_files)
    for file in (Path(file.path) for file in source.discover(paths, Report())):
        if files.is_file(file) and files.real(file) not in read_files and _is_conda(file):
            yield _of_file(Build(str(file), file.parent), file, report, read_files)


def _of_resource(
    owner: Resource, resource: Resource, report: Report, read_files: set[Path]
) -> Build:
    folder = resource.document.folder
    name = str(owner.address if owner is not resource else resource.address)
    build = Build(name, folder, resource.text("image") or "")
    build.by_driver = owner.kind.name == "batch-deployment"
    if build.image:
        build.lines.append(resource.label(("image",)))
    conda, context = resource.get("conda_file"), resource.text("build", "path")
    if isinstance(conda, dict):
        at = (*resource.root, "conda_file")
        build.packages += conda_lines(resource.document, at)
        build.lines += [line.label for line in build.packages]
    elif isinstance(conda, str):
        _of_file(build, folder / conda.removeprefix("file:"), report, read_files)
    if context:
        place = folder / context.removeprefix("file:")
        docker = place / (resource.text("build", "dockerfile_path") or "Dockerfile")
        _of_docker(build, docker, place, report, read_files)
    return build


def _of_file(build: Build, path: Path, report: Report, read_files: set[Path]) -> Build:
    """A build with what a conda file or one of requirements says; one that is not there is none."""
    if not files.is_file(path):
        return build
    build.folder = path.parent
    read_files.add(files.real(path))
    if path.suffix == ".txt":
        _of_lines(build, _text(path))
        return build
    for document in source.read(path, report)[:1]:
        _of_conda(build, document)
    return build


def _of_conda(build: Build, document: Document) -> None:
    build.packages += conda_lines(document)
    build.lines += [line.label for line in build.packages]


def _of_lines(build: Build, text: SourceText) -> None:
    for number, line in enumerate(text.lines):
        bare = re.sub(r"(?:^|\s)#.*", "", line)
        if bare.strip():
            label = _label(text, number, bare)
            build.packages.append(PackageLine(bare.strip().rstrip("\\").strip(), label))
            build.lines.append(label)


def _of_docker(
    build: Build, path: Path, context: Path, report: Report, read_files: set[Path]
) -> Build:
    """A build with what a Dockerfile names: images, packages that pip installs, files of both."""
    if not files.is_file(path):
        return build
    text = _text(path)
    installs = False
    for number, line in enumerate(text.lines):
        if line.lstrip().startswith("#"):
            continue
        if line.startswith("FROM "):
            build.image = line
        build.lines.append(_label(text, number, line))
        head, word, tail = line.partition("pip install")
        for match in _NAMED.finditer(line):
            for place in (context / match[1], context / Path(match[1]).name):
                if files.is_file(place):
                    _of_file(build, place, report, read_files)
                    break
        arguments = tail if word else line if installs else ""
        for token in re.split(r"&&|;", arguments)[0].split() if arguments else ():
            bare = token.strip("'\"")
            if _TOKEN.fullmatch(bare) and not bare.endswith((".txt", ".yml", ".yaml")):
                at = line.index(token, len(head) + len(word) if word else 0)
                label = Label(Span(text, number, at, number, at + len(token)))
                build.packages.append(PackageLine(bare, label))
        goes_on = line.rstrip().endswith("\\") and "&&" not in arguments
        installs = goes_on and bool(word or installs)
    return build


def _label(text: SourceText, number: int, line: str) -> Label:
    start = len(line) - len(line.lstrip())
    return Label(Span(text, number, start, number, len(line.rstrip())))


def _text(path: Path) -> SourceText:
    return SourceText(str(path), files.read(path, _MOST).decode("utf-8-sig", "replace"))


def _is_conda(path: Path) -> bool:
    """Whether a file is one of conda: a list of dependencies, and nothing of Azure."""
    try:
        data = source.plain(_text(path).text)
    except (OSError, ValueError):
        return False
    return (
        isinstance(data, dict)
        and isinstance(data.get("dependencies"), list)
        and "$schema" not in data
    )


def _of_workspace(session: Session, report: Report, name: str) -> Build:
    """An environment of the workspace.

    Raises:
        NotFound: there is none.
        ServiceError: it cannot be read.
    """
    from mlctl.cli.az.read import read_live
    from mlctl.kinds import Address

    bare = name.removeprefix("azureml:").removesuffix("@latest")
    with session.backend() as backend:
        of_name, _, version = bare.partition(":")
        live = read_live(backend, Address("environment", of_name, None, version or None))
    body = live.body.get("properties", {})
    build = Build(str(live.address), Path(), str(body.get("image") or ""))
    if build.image:
        text = SourceText(str(live.address), f"image: {build.image}")
        build.lines.append(_label(text, 0, text.text))
    for document in source.load(
        str(live.address), str(body.get("condaFile") or ""), report, explicit=False
    ):
        _of_conda(build, document)
    return build
