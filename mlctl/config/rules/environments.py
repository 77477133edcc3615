"""Environments whose packages make the image build, or what runs in it, fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from mlctl import pointer
from mlctl.config.graph import Graph, ReadDocument
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Label, Rule, Severity
from mlctl.kinds import Resource
from mlctl.kinds.records.environment import KIND as ENVIRONMENT
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Pointer
from mlctl.schema.text import placeholder
from mlctl.source import Document

NO_DRIVER = Rule("MLC332", "environment-without-azureml-core", Severity.WARNING)
NO_SERVER = Rule("MLC336", "environment-without-inference-server", Severity.WARNING)
CONTRADICTION = Rule("MLC337", "contradicting-packages", Severity.ERROR)
NOWHERE = Rule("MLC338", "version-of-one-machine", Severity.ERROR)

_SCRIPT = ("code_configuration", "scoring_script")
_CURATED = "azureml/curated/"  # images that already have what the service needs
_RUNNERS = {
    "batch-deployment": (
        NO_DRIVER,
        "`azureml-core`",
        "add `azureml-core` and `azureml-dataset-runtime[fuse]` to its `pip` packages",
    ),
    "online-deployment": (
        NO_SERVER,
        "an inference server",
        "add `azureml-inference-server-http` to its `pip` packages",
    ),
}
_MOST_ALIKE = 20  # lines of a package to compare each further one with
_SERVERS = frozenset({"azureml-defaults", "azureml-inference-server-http"})
_NAME = re.compile(r"(?:[\w.-]+::)?([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#\s][^;#]*)?")
_BUILT_FOR = re.compile(r"=py(?:thon)?(?P<major>[23])(?P<minor>\d{1,2})(?!\d)[^=]*$")


@dataclass(frozen=True, slots=True)
class PackageLine:
    """A line that names a package, in conda's or pip's syntax, and its place."""

    text: str
    label: Label
    of_conda: bool = False

    @property
    def name(self) -> str:
        """The package as the index spells it; "" if the line names none."""
        match = _NAME.match(self.text)
        return re.sub(r"[-_.]+", "-", match[1]).casefold() if match else ""

    @property
    def bound(self) -> str:
        """The version constraint, without blanks."""
        match = _NAME.match(self.text)
        return re.sub(r"\s+", "", match[2] or "") if match else ""


def conda_place(
    resource: Resource, at: Pointer, read: ReadDocument
) -> tuple[Document, Pointer] | None:
    """Return where the conda specification of an environment is; None if there is none to read."""
    value = resource.get(*map(str, at), "conda_file")
    if isinstance(value, str) and is_local(value) and not placeholder(value):
        document = read(resource.document.folder / local_path(value))
        return (document, ()) if document else None
    return (resource.document, (*resource.root, *at, "conda_file")) if value else None


def conda_lines(document: Document, above: Pointer = ()) -> Iterator[PackageLine]:
    """Yield the packages of a conda specification; entries that are not text are skipped."""
    listed = pointer.get(document.data, (*above, "dependencies"))
    for number, entry in enumerate(listed if isinstance(listed, list) else ()):
        at: Pointer = (*above, "dependencies", number)
        inner = entry.get("pip") if isinstance(entry, dict) else None
        for inner_number, line in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(line, str):
                yield PackageLine(line.strip(), document.label((*at, "pip", inner_number)))
        if isinstance(entry, str):
            yield PackageLine(entry.strip(), document.label(at), of_conda=True)


def unbuildable(lines: Sequence[PackageLine]) -> Iterator[Diagnostic]:
    """MLC337 and MLC338 among the packages of one environment.

    conda and pip are checked apart: either may replace what the other has installed.
    """
    by_name: dict[tuple[str, bool], dict[str, PackageLine]] = {}
    for second in lines:
        alike = by_name.setdefault((second.name, second.of_conda), {})
        first = next((line for line in alike.values() if _exclude(line, second)), None)
        if second.name and len(alike) < _MOST_ALIKE:
            alike.setdefault(second.text, second)
        if first is not None:
            yield Diagnostic(
                CONTRADICTION,
                f"`{second.text}` and `{first.text}` contradict each other",
                second.label,
                "keep one of them",
                (replace(first.label, text="the other"),),
            )
    python = next((line.bound for line in lines if line.of_conda and line.name == "python"), "")
    version = re.match(r"={1,2}(\d+)\.(\d+)", python)
    for line in lines:
        built = _BUILT_FOR.search(line.bound) if line.of_conda and line.name != "python" else None
        if built and version and built.groups() != version.groups():
            yield Diagnostic(
                CONTRADICTION,
                f"this build of `{line.name}` needs Python {built['major']}.{built['minor']},"
                f" and the environment has {version[1]}.{version[2]}",
                line.label,
                "give the version without the build",
            )
        if not line.of_conda and re.search(r"={2,3}[^,]*\+unknown$", line.bound):
            message = f"`{line.text}` was built locally: no package index has such a version"
            yield Diagnostic(NOWHERE, message, line.label, "remove it, or name a published version")


def _exclude(first: PackageLine, second: PackageLine) -> bool:
    """Whether no version satisfies both; without `packaging`, only pins are compared."""
    pins = [re.fullmatch(r"={1,3}([\d.]+)", line.bound) for line in (first, second)]
    pin = pins[0] or pins[1]
    if pin is None or ";" in first.text + second.text:  # each may be for another platform
        return False
    if pins[0] and pins[1]:
        pairs = zip_longest(*(match[1].split(".") for match in pins if match))
        is_fuzzy = first.of_conda and "==" not in first.bound + second.bound  # `=1` is any 1
        return any(a != b if a and b else not is_fuzzy and {a, b} != {"0", None} for a, b in pairs)
    try:
        from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - where it is there

        bound = (second if pins[0] else first).bound
        return "==" in pin[0] and pin[1] not in SpecifierSet(bound, prereleases=True)
    except (ImportError, ValueError):
        return False


def no_runner(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC332 and MLC336, once per environment."""
    for kind, (rule, lacks, hint) in _RUNNERS.items():
        reported = set[int]()
        for deployment in declared(graph, kind):
            for resource, at in _environments(deployment, graph):
                if id(resource) in reported or not deployment.text(*_SCRIPT):
                    continue
                if _lacks_runner(rule, resource, at, context):
                    reported.add(id(resource))
                    message = (
                        f"the scoring script of `{deployment.address.name}` runs in an environment"
                        f" without {lacks}"
                    )
                    yield finding(rule, resource, (*at, "conda_file"), message, hint, key=True)


def _lacks_runner(
    rule: Rule, resource: Resource, at: tuple[str, ...], context: RuleContext
) -> bool:
    """Whether an environment lists all of its packages, but not the one that the rule needs."""
    place = conda_place(resource, at, context.conda)
    is_whole = _CURATED in (resource.text(*at, "image") or "")
    if place is None or is_whole or resource.get(*at, "inference_config") is not None:
        return False
    lines = list(conda_lines(*place))
    names = [line.name for line in lines]
    if rule is NO_DRIVER:
        return all(names) and bool(names) and not any(name.startswith("azureml-") for name in names)
    return all(names) and bool(names) and _SERVERS.isdisjoint(names)


def packages(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC337 and MLC338 in conda files and inline specifications."""
    for resource in graph.with_inline_assets:
        place = resource.kind is ENVIRONMENT and conda_place(resource, (), context.conda)
        if place:
            address = str(resource.owner or resource.address)
            for diagnostic in unbuildable(list(conda_lines(*place))):
                yield replace(diagnostic, address=address)


def _environments(deployment: Resource, graph: Graph) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """Yield a deployment's environments in these files: the document, and the place in it."""
    if isinstance(deployment.get("environment"), dict):
        yield deployment, ("environment",)
    for edge in graph.edges_of(deployment.address):
        if edge.at == ("environment",):
            for address in graph.declared(edge.target):
                yield graph.resources[address], ()


CHECKS = (no_runner, packages)
