"""Published pipelines and sweeps: azure-ai-ml submits them to the emulator, and they run."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.builders.paths import SHARED
from tests.builders.sdk import Sdk, lead_here, sdk
from tests.builders.standins import complete

CORPUS = SHARED / "corpus-kinds"
CLUSTERS = ("cpu-cluster", "gpu-cluster", "batch-cluster", "gpu-cluster-big")
# What the SDK refuses by itself, as these files are to be completed before they are submitted.
INCOMPLETE = {
    "cli/endpoints/batch/deploy-pipelines/batch-scoring-with-preprocessing/pipeline-job.yml",
    "cli/foundation-models/system/finetune/image-object-detection"
    "/mmdetection-fridgeobjects-detection-pipeline.yaml",
    "cli/jobs/spark/attached-spark-pipeline-default-identity.yml",
    "cli/jobs/spark/attached-spark-pipeline-user-identity.yml",
}

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)


def files() -> list[str]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    with index.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    kinds = ("pipelineJob", "sweepJob")
    found = [row["file"] for row in rows if row["kind"] in kinds and row["verdict"] == "accept"]
    return [name for name in found if name not in INCOMPLETE]


def prepared() -> Sdk:
    """A workspace with what the files name; skips where the extra is not installed."""
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    from azure.ai.ml.entities import AmlCompute, Data

    here = sdk()
    for name in (*CLUSTERS, "sample-finetune-cluster-gpu"):
        spec = AmlCompute(name=name, size="STANDARD_DS3_v2", max_instances=4)
        here.ml.compute.begin_create_or_update(spec).result()
    for name in ("local-folder-example",):
        data = Data(name=name, version="1", type="uri_folder", path="https://example.org/data/")
        here.ml.data.create_or_update(data)
    return here


def test_there_are_published_jobs() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"{CORPUS} is absent")
    assert len(files()) >= 49


@pytest.mark.parametrize("name", files())
def test_a_published_job_runs_to_its_end(name: str, tmp_path: Path) -> None:
    from azure.ai.ml import load_job

    folder = CORPUS / name.rpartition("/")[0]
    shutil.copytree(CORPUS, tmp_path / "corpus", ignore=shutil.ignore_patterns("scripts"))
    file = tmp_path / "corpus" / folder.relative_to(CORPUS) / name.rpartition("/")[2]
    complete(file)
    ml = prepared().ml
    job = ml.jobs.create_or_update(load_job(file))
    for _ in range(2000):
        job = ml.jobs.get(job.name)
        if job.status in ("Completed", "Failed", "Canceled"):
            break
    children = {each.display_name: each.status for each in ml.jobs.list(parent_job_name=job.name)}
    assert job.status == "Completed", children
    assert {*children.values()} == {"Completed"}
