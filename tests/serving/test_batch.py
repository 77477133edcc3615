"""Batch jobs have the predictions of the deployment's own code, where that was asked for."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.builders.scripts import BATCH, batch_files
from tests.builders.shell import Run

WRITES = """\
import os
from pathlib import Path

def run(mini_batch):
    for path in map(Path, mini_batch):
        Path(os.environ["AZUREML_BI_OUTPUT_PATH"], path.name + ".bin").write_bytes(b"\\xff\\x00")
    return mini_batch
"""


@pytest.fixture
def here(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a deployment's files; its own home."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def deploy(mlctl: Run, here: Path, script: str = BATCH, **settings: object) -> None:
    assert mlctl("apply", str(batch_files(here, script, **settings)), "--yes").code == 0


def job_of(mlctl: Run, *more: str) -> tuple[str, str]:
    """The name of a job that ran code to its end, and what was said about it."""
    done = mlctl(
        "batch-endpoint", "invoke", "-n", "scoring", "--input", "data", "--run-code", *more
    )
    assert done.code == 0, done.err
    name = str(done.json["name"])
    mlctl("job", "stream", "-n", name)
    return name, done.err


def downloaded(mlctl: Run, here: Path, name: str) -> Path:
    assert mlctl("job", "download", "-n", name, "--all", "-p", str(here / name)).code == 0
    return here / name / "named-outputs" / "score"


def test_the_rows_of_a_job_are_those_of_the_script_called_by_hand(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here)
    name, _ = job_of(mlctl)
    rows = (downloaded(mlctl, here, name) / "predictions.csv").read_text().splitlines()
    script = runpy.run_path(str(here / "code" / "score.py"))
    assert rows == script["run"](sorted(map(str, (here / "data").iterdir())))
    shown = mlctl("job", "show", "-n", name).json
    assert (shown["status"], "results" in shown) == ("Completed", False)
    assert shown["work"]["times"] == "4 times"


def test_the_rows_are_in_the_file_that_the_deployment_names(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here, output_file_name="scores.csv")
    folder = downloaded(mlctl, here, job_of(mlctl)[0])
    assert [path.name for path in folder.iterdir()] == ["scores.csv"]


def test_a_second_job_runs_no_code_unless_a_file_has_changed(mlctl: Run, here: Path) -> None:
    counting = BATCH.replace("    rows = []", "    rows = []\n    print('ran', len(mini_batch))")
    deploy(mlctl, here, counting)
    job_of(mlctl)
    (here / "data" / "f0.txt").write_text("changed")
    name, _ = job_of(mlctl)
    downloaded(mlctl, here, name)
    logs = [path.read_text() for path in (here / name).rglob("*.stdout.txt")]
    assert "".join(logs).count("ran") == 1


@pytest.mark.parametrize(("threshold", "status"), [(-1, "Completed"), (0, "Failed")])
def test_failing_mini_batches_fail_the_job_beyond_the_threshold(
    mlctl: Run, here: Path, threshold: int, status: str
) -> None:
    deploy(mlctl, here, error_threshold=threshold)
    (here / "data" / "bad.txt").write_text("x")
    name, said = job_of(mlctl)
    assert "1 of 5 mini-batches failed; the first: ValueError: bad.txt" in said
    assert mlctl("job", "show", "-n", name).json["status"] == status


def test_what_a_script_writes_is_the_output_byte_by_byte(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here, WRITES, output_action="summary_only")
    folder = downloaded(mlctl, here, job_of(mlctl)[0])
    assert sorted(path.name for path in folder.iterdir()) == [f"f{n}.txt.bin" for n in range(4)]
    assert (folder / "f0.txt.bin").read_bytes() == b"\xff\x00"


def test_a_script_that_cannot_be_loaded_leaves_no_job(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here, "import no_such_package\n")
    done = mlctl("batch-endpoint", "invoke", "-n", "scoring", "--input", "data", "--run-code")
    assert (done.code == 0, "no_such_package" in done.err) == (False, True)
    assert mlctl("job", "list").json == []


def test_a_job_without_the_flag_has_made_up_rows(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here)
    done = mlctl("batch-endpoint", "invoke", "-n", "scoring", "--input", "data")
    name = str(done.json["name"])
    mlctl("job", "stream", "-n", name)
    text = (downloaded(mlctl, here, name) / "predictions.csv").read_text()
    assert "simulated" in text


HANGS = """\
import os, time
from pathlib import Path

def run(mini_batch):
    name = Path(mini_batch[0]).name
    if name == "f0.txt":
        time.sleep(60)
    if name == "f1.txt":
        os._exit(3)
    return [name]
"""


@pytest.mark.slow
def test_a_mini_batch_that_hangs_or_ends_its_process_takes_no_other_with_it(
    mlctl: Run, here: Path
) -> None:
    retry = {"retry_settings": {"max_retries": 0, "timeout": 1}}
    deploy(mlctl, here, HANGS, mini_batch_size=1, max_concurrency_per_instance=1, **retry)
    name, said = job_of(mlctl)
    rows = (downloaded(mlctl, here, name) / "predictions.csv").read_text().splitlines()
    files = sorted(path.name for path in (here / "data").iterdir())
    assert rows == [file for file in files if file not in ("f0.txt", "f1.txt")]
    assert "2 of" in said
    assert not list((here / ".mlctl" / "code").glob("*/tmp*"))


def test_a_job_that_is_refused_leaves_no_results(mlctl: Run, here: Path) -> None:
    deploy(mlctl, here)
    name, _ = job_of(mlctl)
    before = sorted((here / ".mlctl" / "code").iterdir())
    again = ("--input", "data", "--run-code", "--job-name", name)
    assert mlctl("batch-endpoint", "invoke", "-n", "scoring", *again).code != 0
    assert sorted((here / ".mlctl" / "code").iterdir()) == before


@pytest.mark.parametrize("reference", ["azureml:texts@latest", "azureml:texts:1"])
def test_the_input_is_data_of_the_workspace(mlctl: Run, here: Path, reference: str) -> None:
    deploy(mlctl, here)
    created = mlctl("data", "create", "-n", "texts", "--path", "data", "--type", "uri_folder")
    assert created.code == 0, created.err
    done = mlctl("batch-endpoint", "invoke", "-n", "scoring", "--input", reference, "--run-code")
    assert done.code == 0, done.err
