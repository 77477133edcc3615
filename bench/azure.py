"""The azure backend beside the SDK, on an emulator behind TLS: 1 000 clusters, 200 deployments.

    python -m bench.azure [--quick]

Needs the extras `azure` and `emulator`. Planning is the whole command in a process that is warm:
the files, the reads, the plan. The SDK reads the same resources one by one, as a script would. Cold
processes are measured by the clock on the wall; of several rounds the median counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from mlctl import apply, steps
from mlctl import plan as planning
from mlctl.backends import open_backend
from mlctl.backends.base import Options
from mlctl.backends.local import LocalBackend
from mlctl.diagnostics import Report
from mlctl.graph import Graph
from mlctl.kinds.address import Scope
from mlctl.load import Loader
from mlctl.survey import survey

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")
TODAY = date(2026, 1, 1)
SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest"
CLUSTER = f"{SCHEMA}/amlCompute.schema.json\nname: {{}}\ntype: amlcompute\nmax_instances: 1\n"
ENDPOINT = f"{SCHEMA}/batchEndpoint.schema.json\nname: {{}}\n"
MODEL = f"{SCHEMA}/model.schema.json\nname: m\nversion: 1\npath: azureml://jobs/j/outputs/artifacts/paths/m/\n"
DEPLOYMENT = (
    f"{SCHEMA}/batchDeployment.schema.json\nname: {{}}\nendpoint_name: {{}}\n"
    "model: azureml:m:1\ncompute: azureml:cluster-0000x\n"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number beside the one that is wanted."""

    name: str
    value: float
    unit: str
    wanted: str = ""
    good: bool = True

    def line(self) -> str:
        """The figure as a row of the table."""
        mark = "ok" if self.good else "MISSED"
        return f"{self.name:<58} {self.value:>9,.2f} {self.unit:<9} {self.wanted:<8} {mark}"


def figures(clusters: int, endpoints: int, rounds: int) -> Iterator[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name, emulator(Path(name), clusters, endpoints):
        folder = Path(name) / "files"
        sdk = measured(lambda: read_by_sdk(clusters, endpoints), 1)
        yield Figure("MLClient: the same, read one by one", sdk, "s")
        ours = measured(lambda: planned(folder), rounds)
        yield Figure(f"planning {clusters} clusters, {endpoints * 2} deployments", ours, "s")
        yield compared("  of reading them with MLClient", ours, sdk, 0.2)
        yield Figure("  requests", requests_of(folder), "")
        heavy = measured(lambda: shell("-c", "import azure.ai.ml"), rounds)
        yield Figure("cold: import azure.ai.ml", heavy, "s")
        plan = ("-m", "mlctl", "--backend", "azure", "plan", f"{folder}/cluster-0000x.yml")
        cold = measured(lambda: shell(*plan), rounds)
        yield Figure("cold: plan of one file", cold, "s")
        yield compared("  of importing azure.ai.ml", cold, heavy, 0.7)


def compared(name: str, ours: float, theirs: float, most: float) -> Figure:
    """A ratio, and how much it may be."""
    return Figure(name, ours / theirs, "x", f"<= {most}", ours <= most * theirs)


def measured(what: Callable[[], object], rounds: int) -> float:
    """The median of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        what()
        times.append(perf_counter() - start)
    return median(times)


@contextmanager
def emulator(folder: Path, clusters: int, endpoints: int) -> Iterator[None]:
    """A full workspace and the files that declare it; `os.environ` leads to it."""
    texts = dict(declared(clusters, endpoints))
    (folder / "files").mkdir()
    for name, text in texts.items():
        (folder / "files" / f"{name}.yml").write_text(text)
    fill(folder / "cloud.db", folder / "files")
    command = [sys.executable, "-m", "mlctl", "emulator", "start", "--json", "--db", "cloud.db"]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        os.environ |= leading(json.loads(process.stdout.readline()))
        yield
    finally:
        process.terminate()
        process.wait()


def leading(told: Mapping[str, Any]) -> dict[str, str]:
    """The variables that lead everybody to an emulator."""
    url = told["url"]
    return {
        "ARM_CLOUD_METADATA_URL": f"{url}/metadata/endpoints?api-version=2022-09-01",
        "REQUESTS_CA_BUNDLE": told["ca_file"],
        "IDENTITY_ENDPOINT": f"{url}/msi/token",
        "IDENTITY_HEADER": "emulator",
        "AZURE_SUBSCRIPTION_ID": SCOPE.subscription,
        "AZURE_DEFAULTS_GROUP": SCOPE.resource_group,
        "AZURE_DEFAULTS_WORKSPACE": SCOPE.workspace,
        "NO_PROXY": "127.0.0.1",
    }


def declared(clusters: int, endpoints: int) -> Iterator[tuple[str, str]]:
    """The files: clusters, a model, endpoints of two deployments each."""
    yield "model", MODEL
    for number in range(clusters):
        yield f"cluster-{number:04}x", CLUSTER.format(f"cluster-{number:04}x")
    for number in range(endpoints):
        name = f"endpoint-{number:04}"
        yield name, ENDPOINT.format(name)
        for color in ("blue", "green"):
            yield f"{name}-{color}", DEPLOYMENT.format(color, name)


def fill(path: Path, folder: Path) -> None:
    """Put everything that the files declare into a workspace."""
    backend = LocalBackend(path, SCOPE)
    plenty = {one.family: 1_000_000 for one in backend.usage(backend.location)}
    backend.set_quota(families=plenty)
    graph = loaded(folder)
    made = planning.plan(graph, survey(graph, backend), backend="local")
    work = steps.work(made, graph)
    for _ in apply.apply(work, backend, parallelism=1, stop=threading.Event()):
        pass
    backend.close()


def loaded(folder: Path) -> Graph:
    """What the files declare."""
    report = Report()
    graph = Loader(report, TODAY, scope=SCOPE, planning=True).load([str(folder)]).graph
    assert not report.failed, next(iter(report)).message
    return graph


def planned(folder: Path) -> None:
    """The plan of the files on the azure backend, which must be empty."""
    backend, _ = open_backend("azure", SCOPE, os.environ, Options(auth="managed-identity"))
    graph = loaded(folder)
    made = planning.plan(graph, survey(graph, backend), backend="azure")
    assert made.empty, len(made.pending)
    backend.close()


def requests_of(folder: Path) -> int:
    """How many requests a plan takes."""
    from mlctl.backends.azure import AzureBackend

    backend, _ = open_backend("azure", SCOPE, os.environ, Options(auth="managed-identity"))
    assert isinstance(backend, AzureBackend)
    count = 0
    transport = backend.arm.transport
    send = transport.send

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return send(*given, **options)

    transport.send = counted
    graph = loaded(folder)
    survey(graph, backend)
    backend.close()
    return count


def read_by_sdk(clusters: int, endpoints: int) -> None:
    """Every resource, one by one, through MLClient."""
    from azure.ai.ml import MLClient
    from azure.identity import ManagedIdentityCredential

    names = (SCOPE.subscription, SCOPE.resource_group, SCOPE.workspace)
    client = MLClient(ManagedIdentityCredential(), *names)
    for number in range(clusters):
        client.compute.get(f"cluster-{number:04}x")
    for number in range(endpoints):
        for color in ("blue", "green"):
            client.batch_deployments.get(color, f"endpoint-{number:04}")


def shell(*words: str) -> None:
    """A process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Print the table."""
    quick = "--quick" in sys.argv
    for figure in figures(*((100, 10, 3) if quick else (1000, 100, 5))):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
