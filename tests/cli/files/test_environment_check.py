"""`mlctl environment check`: what fails the build of an image; published failures are cases."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.builders.shell import Run

SCHEMAS = "https://azuremlschemas.azureedge.net/latest"
HEAD = f"$schema: {SCHEMAS}/environment.schema.json\nname: e\nversion: 1\n"


def codes(mlctl: Run, *words: str) -> list[tuple[str, str, int]]:
    """The code, file and line of each finding."""
    return [
        (finding["code"], Path(at["filename"]).name, at["start"]["line"])
        for finding in mlctl("environment", "check", *words, "-o", "json").json["diagnostics"]
        for at in [finding["range"]]
    ]


# Azure/azure-sdk-for-python#10921: a build for 3.6 under 3.7, and what `pip freeze` lists.
FROZEN = """\
name: azureml_py36
channels: [milagraph, conda-forge, defaults]
dependencies:
  - python=3.7
  - cudatoolkit=10.0.130=0
  - graphvite=0.2.1=py36cuda100h5cf3a5a
  - pip:
      - azureml-samples==0+unknown
"""
# MicrosoftLearning/mslearn-dp100#72, and as mslearn-mlops#60: a Python that is gone.
# MicrosoftLearning/mslearn-dp100#34: the build was killed (-15); its packages were not to blame.
KILLED = "dependencies:\n  - pip\n  - scikit-learn\n  - pip: [azureml-defaults]\n"
# Azure/azure-sdk-for-python#34418 is no case: conda's own files clashed (FileExistsError).
# Azure/mlops-v2#79: a Python and an SDK that are gone. `sklearn` 0.24.1 needs --resolve.
SKLEARN = """\
dependencies:
  - python=3.7.5
  - pip
  - pip:
      - azureml-mlflow==1.38.0
      - azureml-sdk==1.38.0
      - sklearn==0.24.1
"""
OLD = "dependencies:\n  - python=3.6.2\n  - scikit-learn\n  - pip: [azureml-defaults]\n"


@pytest.mark.parametrize(
    ("conda", "expected"),
    [
        (FROZEN, [("MLC361", 4), ("MLC337", 6), ("MLC338", 8)]),
        (OLD, [("MLC361", 2)]),
        (KILLED, []),
        (SKLEARN, [("MLC361", 2), ("MLC361", 6)]),
        ("dependencies: [python=3.12, {pip: [azureml-mlflow, azureml-defaults]}]\n", []),
        ("dependencies:\n- python=3.12\n- pip:\n  - azureml-sdk==1.50 # old\n", [("MLC361", 4)]),
        ("dependencies:\n- python=3.8 # mlctl:ignore=MLC361\n", []),
    ],
)
def test_a_conda_file_alone_is_checked(
    mlctl: Run, tmp_path: Path, conda: str, expected: list[tuple[str, int]]
) -> None:
    (tmp_path / "conda.yml").write_text(conda)
    assert codes(mlctl, "conda.yml") == [(code, "conda.yml", line) for code, line in expected]


def test_a_folder_is_checked_with_the_files_that_documents_name(mlctl: Run, tmp_path: Path) -> None:
    for name, text in {
        "env.yml": HEAD + "build: {path: context}\n",
        "job.yml": f"$schema: {SCHEMAS}/commandJob.schema.json\ncommand: ls\n"
        "compute: azureml:c\nenvironment:\n  image: ubuntu:18.04\n"
        "  conda_file: conda/named.yml\n",
        "conda/named.yml": "dependencies:\n  - numpy=1.1\n  - numpy=1.2\n",
        "conda/alone.yml": "dependencies:\n  - python=2.7\n  - python=3.7\n",
        "context/Dockerfile": "# FROM ubuntu:18.04\nFROM python:3.8-slim\n"
        "COPY requirements.txt .\nRUN pip install -r requirements.txt && echo hi\n"
        "RUN pip install 'a==1' \\\n    b \\\n    a==2\n",
        "context/requirements.txt": "# pins\nx==1 # one\nx==2\n",
        "other.yml": "services: {web: {image: 'python:3.7'}}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = mlctl("environment", "check", ".")
    assert done.code == 1
    assert codes(mlctl, ".") == [
        ("MLC337", "alone.yml", 3),
        ("MLC361", "alone.yml", 3),
        ("MLC337", "named.yml", 3),
        ("MLC361", "Dockerfile", 2),
        ("MLC337", "Dockerfile", 7),
        ("MLC337", "requirements.txt", 3),
        ("MLC361", "job.yml", 5),
    ]
    assert "checked 3 environments" in done.err


def test_an_image_of_a_retired_system_is_found(mlctl: Run, tmp_path: Path) -> None:
    # microsoft/MLOpsPython#418, whose conda file the thread does not show
    image = "mcr.microsoft.com/azureml/intelmpi2018.3-ubuntu16.04:20210301.v1"
    (tmp_path / "env.yml").write_text(f"{HEAD}image: {image}\n")
    assert codes(mlctl, "env.yml") == [("MLC361", "env.yml", 4)]


def test_a_batch_deployment_may_have_azureml_core(mlctl: Run, tmp_path: Path) -> None:
    conda = "  conda_file: {dependencies: [python=3.12, {pip: [azureml-core]}]}\n"
    (tmp_path / "d.yml").write_text(
        f"$schema: {SCHEMAS}/modelBatchDeployment.schema.json\nname: d\nendpoint_name: e\n"
        "type: model\nmodel: azureml:m:1\ncompute: azureml:c\nenvironment:\n  image: ubuntu:22.04\n"
        f"{conda}code_configuration: {{code: ., scoring_script: s.py}}\n"
    )
    assert codes(mlctl, "d.yml") == []


def test_an_environment_of_the_workspace_is_checked_by_its_name(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text(OLD)
    (tmp_path / "env.yml").write_text(HEAD + "image: ubuntu:18.04\nconda_file: conda.yml\n")
    assert mlctl("environment", "create", "--file", "env.yml").code == 0
    assert [code for code, _, _ in codes(mlctl, "azureml:e@latest")] == ["MLC361", "MLC361"]
    assert mlctl("environment", "check", "e:1", "--strict").code == 1
    assert mlctl("environment", "check", "none").code == 3


def test_a_conda_file_that_is_not_there_is_found(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "env.yml").write_text(HEAD + "image: ubuntu:22.04\nconda_file: none.yml\n")
    assert codes(mlctl, "env.yml") == [("MLC203", "env.yml", 5)]


def test_a_version_of_python_that_is_none_is_refused(mlctl: Run) -> None:
    assert mlctl("environment", "check", ".", "--python", "new").code == 2


def test_requirements_that_others_name_are_checked_in_their_own_lines(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "conda.yml").write_text("dependencies:\n  - pip: ['-r more/a.txt', x==1]\n")
    (tmp_path / "more/a.txt").write_text("-r b.txt\n-r a.txt\n")
    (tmp_path / "more/b.txt").write_text("-r a.txt\n\nx==2\n")
    assert codes(mlctl, "conda.yml") == [("MLC337", "conda.yml", 2)]
    done = mlctl("environment", "check", "conda.yml")
    assert "more/b.txt:3:1" in done.out
    assert codes(mlctl, "more/a.txt") == []


def test_a_dockerfile_that_names_a_package_ten_thousand_times_takes_no_long_time(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\nRUN pip install " + "x " * 10_000)
    began = time.process_time()
    assert mlctl("environment", "check", "Dockerfile").code == 0
    assert time.process_time() - began < 2
