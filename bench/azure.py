"""The azure backend beside the SDK, on an emulator behind TLS: 1 000 clusters, 200 deployments.

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
from datetime import date
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.commands import ROOT
from bench.figure import Effort, Figure, at_most, beside
from mlctl.applying import executor
from mlctl.backends import open_backend
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import ConnectionOptions
from mlctl.config.graph import Graph
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS
from mlctl.kinds.address import Scope
from mlctl.planning import planner as planning
from mlctl.planning.refresh import refresh
from mlctl.planning.steps.work import work

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")
NAMES = (SCOPE.subscription, SCOPE.resource_group, SCOPE.workspace)
TODAY = date(2026, 1, 1)
GETTING = """\
from statistics import median
from time import perf_counter
from azure.ai.ml import MLClient
from azure.identity import ManagedIdentityCredential

client = MLClient(ManagedIdentityCredential(), *{names!r})
times = []
for _ in range(210):
    began = perf_counter()
    client.compute.get("cluster-0001x")
    times.append(perf_counter() - began)
print(median(times[10:]))
"""
SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest"
CLUSTER = f"{SCHEMA}/amlCompute.schema.json\nname: {{}}\ntype: amlcompute\nmax_instances: 1\n"
ENDPOINT = f"{SCHEMA}/batchEndpoint.schema.json\nname: {{}}\n"
MODEL = f"{SCHEMA}/model.schema.json\nname: m\nversion: 1\npath: azureml://jobs/j/outputs/artifacts/paths/m/\n"
DEPLOYMENT = (
    f"{SCHEMA}/batchDeployment.schema.json\nname: {{}}\nendpoint_name: {{}}\n"
    "model: azureml:m:1\ncompute: azureml:cluster-0000x\n"
)


def figures(effort: Effort) -> Iterator[Figure]:
    """All figures."""
    clusters, endpoints = (100, 10) if effort.quick else (1000, 100)
    with tempfile.TemporaryDirectory() as name, emulator(Path(name), clusters, endpoints) as told:
        yield one_get(told)
        yield from plans(Path(name) / "files", clusters, endpoints, effort.runs)
    many = 10_000 if effort.long else 1_000
    with tempfile.TemporaryDirectory() as name, emulator(Path(name), many, 0) as told:
        assert listed() == many
        peak = peak_memory(told["pid"])
        if peak is not None:
            yield at_most(f"emulator with {many:,} resources", peak, "MB", 200)


def one_get(told: Mapping[str, Any]) -> Figure:
    """`compute.get` of the emulator and of a server that only repeats it, in turns."""
    with bare(told) as other:
        rounds = [(getting(told), getting(other)) for _ in range(3)]
    ours, theirs = (median(times) for times in zip(*rounds, strict=True))
    return beside("MLClient.compute.get", ours, theirs, "bare stdlib server", 1.5)


def plans(folder: Path, clusters: int, endpoints: int, runs: int) -> Iterator[Figure]:
    """A plan of everything, warm, and of one file, cold."""
    ours = measured(lambda: planned(folder), runs)  # before the SDK and its many objects are there
    sdk = measured(lambda: read_by_sdk(clusters, endpoints), 1)
    name = f"plan {clusters} clusters, {endpoints * 2} depl."
    yield beside(name, ours, sdk, "MLClient, one by one", 0.15)
    yield from requests(loaded(folder))
    heavy = measured(lambda: shell("-c", "import azure.ai.ml"), runs)
    plan = ("-m", "mlctl", "--backend", "azure", "plan", f"{folder}/cluster-0000x.yml")
    cold = measured(lambda: shell(*plan), runs)
    yield beside("plan one file on azure, cold", cold, heavy, "import azure.ai.ml", 0.7)


def measured(what: Callable[[], object], rounds: int) -> float:
    """The median of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        what()
        times.append(perf_counter() - start)
    return median(times)


@contextmanager
def emulator(folder: Path, clusters: int, endpoints: int) -> Iterator[Mapping[str, Any]]:
    """A full workspace and the files that declare it; `os.environ` leads to it.

    What the emulator tells of itself, and the folder of its `keys`.
    """
    texts = dict(declared(clusters, endpoints))
    (folder / "files").mkdir()
    for name, text in texts.items():
        (folder / "files" / f"{name}.yml").write_text(text)
    fill(folder / "cloud.db", folder / "files")
    command = [sys.executable, "-m", "mlctl", "emulator", "start", "--json", "--db", "cloud.db"]
    command += ["--cert-dir", "keys"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        os.environ |= leading(told)
        yield {**told, "keys": folder / "keys"}
    finally:
        process.terminate()
        process.wait()


@contextmanager
def bare(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A server that gives the emulator's answers from memory, behind the same certificate."""
    files = (told["keys"] / "server.pem", told["keys"] / "server.key")
    words = [sys.executable, "-m", "bench.bare", told["url"], *map(str, files)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield {**told, "url": process.stdout.readline().strip()}
    finally:
        process.terminate()
        process.wait()


def getting(told: Mapping[str, Any]) -> float:
    """The median seconds of `compute.get` in a process of its own, once it is warm."""
    environment = {**os.environ, **leading(told)}
    words = [sys.executable, "-W", "ignore", "-c", GETTING.format(names=NAMES)]
    done = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def listed() -> int:
    """How many clusters there are, page by page, through MLClient."""
    from azure.ai.ml import MLClient
    from azure.identity import ManagedIdentityCredential

    return sum(1 for _ in MLClient(ManagedIdentityCredential(), *NAMES).compute.list())


def peak_memory(pid: int) -> float | None:
    """The most memory of a process so far in MB, where the system tells it."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    told = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(told.split()[1]) / 1024


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
    made = planning.plan(graph, refresh(graph, backend), backend="local")
    writes = work(made, graph)
    for _ in executor.apply(writes, backend, parallelism=1, stop=threading.Event()):
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
    backend, _ = open_backend(
        "azure", SCOPE, os.environ, ConnectionOptions(auth="managed-identity")
    )
    graph = loaded(folder)
    made = planning.plan(graph, refresh(graph, backend), backend="azure")
    assert made.empty, len(made.pending)
    backend.close()


def requests(graph: Graph) -> Iterator[Figure]:
    """How many requests a plan takes, and what teams run: no more than lists need.

    Where all differs, drift asks for the last write of everything.
    """
    plain = requests_of(lambda backend: refresh(graph, backend))
    yield Figure("  requests", str(plain))
    others = {
        "--prune": lambda backend: refresh(graph, backend, of="bench"),
        "export": lambda backend: backend.list_all(KINDS),
        "drift of all": lambda backend: (
            refresh(graph, backend),
            backend.last_writes([*graph.resources]),
        ),
    }
    for what, asked in others.items():
        count = requests_of(asked)
        fits = count <= plain * 1.2
        note = f"{count / plain:.2f}"
        yield Figure(f"  {what}", str(count), "<= 1.2x", fits, str(plain), "plan", note)


def requests_of(asked: Callable[[Any], object]) -> int:
    """How many requests are sent."""
    from mlctl.backends.azure import AzureBackend

    backend, _ = open_backend(
        "azure", SCOPE, os.environ, ConnectionOptions(auth="managed-identity")
    )
    assert isinstance(backend, AzureBackend)
    count = 0
    transport = backend.arm.transport
    send = transport.send

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return send(*given, **options)

    transport.send = counted
    asked(backend)
    backend.close()
    return count


def read_by_sdk(clusters: int, endpoints: int) -> None:
    """Every resource, one by one, through MLClient."""
    from azure.ai.ml import MLClient
    from azure.identity import ManagedIdentityCredential

    client = MLClient(ManagedIdentityCredential(), *NAMES)
    for number in range(clusters):
        client.compute.get(f"cluster-{number:04}x")
    for number in range(endpoints):
        for color in ("blue", "green"):
            client.batch_deployments.get(color, f"endpoint-{number:04}")


def shell(*words: str) -> None:
    """A process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
