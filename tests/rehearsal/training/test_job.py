"""What a job or a script says of a training to be rehearsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.rehearsal.documents import from_documents
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.training.job import with_nodes, with_steps
from mlctl.rehearsal.training.model import Training
from tests.builders.findings import TODAY
from tests.builders.paths import SAMPLES

JOB = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
type: command
code: src
command: {command}
environment: {{image: ubuntu}}
compute: azureml:c
"""


def job(folder: Path, command: str, more: str = "") -> Path:
    """A job with this command, whose code is `train.py`."""
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("")
    (folder / "job.yml").write_text(JOB.format(command=command) + more)
    return folder / "job.yml"


def read(path: Path, **selected: object) -> Training:
    """The training that a file declares."""
    loaded = Loader(Report(), TODAY, scripts=False).load([str(path)])
    found = from_documents(str(path), loaded, **selected)  # type: ignore[arg-type]
    assert isinstance(found, Training)
    return found


@pytest.mark.parametrize(
    ("command", "bounded"),
    [
        ("python train.py --epochs 100 --lr 1", "python train.py --epochs 7 --lr 1"),
        ("python train.py --max-steps=100", "python train.py --max-steps=7"),
        ("python train.py --epochs 3 --max_steps 9", "python train.py --epochs 3 --max_steps 7"),
        ("python train.py trainer.max_epochs=9", "python train.py trainer.max_epochs=7"),
        ("python train.py", "python train.py --n_epochs 7"),
    ],
)
def test_steps_are_bounded_by_the_argument_that_counts_them(
    command: str, bounded: str, tmp_path: Path
) -> None:
    declares = "import argparse\nargparse.ArgumentParser().add_argument('--n_epochs', '-n')\n"
    (tmp_path / "train.py").write_text(declares)
    found = with_steps(Training(command, tmp_path), 7)
    assert found.command == bounded
    assert found.variables == {"MLCTL_REHEARSAL_STEPS": "7"}


def test_steps_that_nothing_counts_are_refused_unless_the_code_asks_for_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.py").write_text("--checkpoint-steps\n")
    training = Training("python train.py --checkpoint-steps 3", tmp_path)
    with pytest.raises(RehearsalError, match="the number of steps cannot be set"):
        with_steps(training, 7)
    (tmp_path / "train.py").write_text("import os\nos.environ['MLCTL_REHEARSAL_STEPS']\n")
    assert with_steps(training, 7).command == training.command


def test_an_input_that_is_not_here_is_the_one_that_is_given(tmp_path: Path) -> None:
    inputs = "inputs:\n  data:\n    type: uri_folder\n    path: azureml:d:1\n  rate: 3\n"
    path = job(tmp_path, "python train.py ${{inputs.data}} ${{inputs.rate}}", inputs)
    with pytest.raises(RehearsalError, match="the input `data` is not a local file: `azureml:d:1`"):
        read(path)
    assert read(path, local_input=tmp_path).command == f"python train.py {tmp_path} 3"


def test_only_a_job_whose_processes_find_each_other_has_several_nodes(tmp_path: Path) -> None:
    more = (
        "resources: {instance_count: 2}\n"
        "distribution: {type: pytorch, process_count_per_instance: 3}\n"
    )
    found = read(job(tmp_path, "python train.py", more))
    assert (found.nodes, found.processes, found.ranks) == (2, 3, 6)
    assert with_nodes(found, 4).ranks == 12
    with pytest.raises(RehearsalError, match="only a job with `distribution"):
        with_nodes(Training("python train.py", tmp_path), 2)


def test_a_distribution_that_needs_its_own_launcher_is_refused_on_several_nodes(
    tmp_path: Path,
) -> None:
    more = "resources: {instance_count: 2}\ndistribution: {type: mpi}\n"
    path = job(tmp_path, "python train.py", more)
    with pytest.raises(RehearsalError, match="`distribution: mpi` cannot be rehearsed on 2 nodes"):
        read(path)
    assert read(path, nodes=1).ranks == 1


def test_the_sample_of_a_job_is_bounded_by_its_input() -> None:
    found = with_steps(read(SAMPLES / "training" / "job.yml"), 5)
    assert found.command.startswith("python train.py --epochs 5 --checkpoint-every 10")
