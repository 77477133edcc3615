"""What fails the image of an environment, or what is to run in it: what its packages say."""

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
_CURATED = "azureml/curated/"  # images that have what the service needs
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
_MOST_ALIKE = 20  # lines of one package that each further one is held against
_SERVERS = frozenset({"azureml-defaults", "azureml-inference-server-http"})
_NAME = re.compile(r"(?:[\w.-]+::)?([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#\s][^;#]*)?")
_BUILT_FOR = re.compile(r"=py(?:thon)?(?P<major>[23])(?P<minor>\d{1,2})(?!\d)[^=]*$")


@dataclass(frozen=True, slots=True)
class PackageLine:
    """What names a package, as conda or pip has it, and where it stands."""

    text: str
    label: Label
    of_conda: bool = False

    @property
    def name(self) -> str:
        """The package, spelt as the index does; "" where the text names none."""
        match = _NAME.match(self.text)
        return re.sub(r"[-_.]+", "-", match[1]).casefold() if match else ""

    @property
    def bound(self) -> str:
        """Which of its versions, without blanks."""
        match = _NAME.match(self.text)
        return re.sub(r"\s+", "", match[2] or "") if match else ""


def conda_place(
    resource: Resource, at: Pointer, read: ReadDocument
) -> tuple[Document, Pointer] | None:
    """Where the conda specification of an environment stands; None where there is none to read."""
    value = resource.get(*map(str, at), "conda_file")
    if isinstance(value, str) and is_local(value) and not placeholder(value):
        document = read(resource.document.folder / local_path(value))
        return (document, ()) if document else None
    return (resource.document, (*resource.root, *at, "conda_file")) if value else None


def conda_lines(document: Document, above: Pointer = ()) -> Iterator[PackageLine]:
    """The packages of a conda specification; what is no text is passed over."""
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

    conda and pip are two: the one may replace what the other has installed.
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
                "keep the one that is meant",
                (replace(first.label, text="the other"),),
            )
    python = next((line.bound for line in lines if line.of_conda and line.name == "python"), "")
    version = re.match(r"={1,2}(\d+)\.(\d+)", python)
    for line in lines:
        built = _BUILT_FOR.search(line.bound) if line.of_conda and line.name != "python" else None
        if built and version and built.groups() != version.groups():
            yield Diagnostic(
                CONTRADICTION,
                f"this build of `{line.name}` is for Python {built['major']}.{built['minor']},"
                f" and the environment has {version[1]}.{version[2]}",
                line.label,
                "name the version without the build",
            )
        if not line.of_conda and re.search(r"={2,3}[^,]*\+unknown$", line.bound):
            yield Diagnostic(
                NOWHERE,
                f"`{line.text}` was made on one machine: no package index has such a version",
                line.label,
                "leave it out, or name a version that is published",
            )


def _exclude(first: PackageLine, second: PackageLine) -> bool:
    """Whether no version of their package is both; pins alone are compared without `packaging`."""
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
    """MLC332 and MLC336, once for an environment."""
    for kind, (rule, lacks, hint) in _RUNNERS.items():
        reported = set[int]()
        for deployment in declared(graph, kind):
            for resource, at in _environments(deployment, graph):
                if id(resource) in reported or not deployment.text(*_SCRIPT):
                    continue
                if _lacks_runner(rule, resource, at, context):
                    reported.add(id(resource))
                    yield finding(
                        rule,
                        resource,
                        resource.label((*at, "conda_file"), key=True),
                        f"the scoring script of `{deployment.address.name}` runs in an environment"
                        f" without {lacks}",
                        hint,
                    )


def _lacks_runner(
    rule: Rule, resource: Resource, at: tuple[str, ...], context: RuleContext
) -> bool:
    """Whether an environment lists all of its packages, and not what the rule is about."""
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
    """MLC337 and MLC338 in what conda files and inline specifications say."""
    for resource in graph.with_inline_assets:
        place = resource.kind is ENVIRONMENT and conda_place(resource, (), context.conda)
        if place:
            address = str(resource.owner or resource.address)
            for diagnostic in unbuildable(list(conda_lines(*place))):
                yield replace(diagnostic, address=address)


def _environments(deployment: Resource, graph: Graph) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """The environments that are written here: the document, and where it has one."""
    if isinstance(deployment.get("environment"), dict):
        yield deployment, ("environment",)
    for edge in graph.edges_of(deployment.address):
        if edge.at == ("environment",):
            for address in graph.declared(edge.target):
                yield graph.resources[address], ()


CHECKS = (no_runner, packages)
