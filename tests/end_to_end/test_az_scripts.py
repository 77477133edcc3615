"""What scripts say with `az ml` today: with `mlctl` in its place, and through the shim."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.paths import LOW_PRIORITY

SHELLS = [name for name in ("bash", "dash", "zsh") if shutil.which(name)]
# The canonical lines of the endpoint and compute scripts in Azure/azureml-examples (cli/).
CREATE = "ml compute create -n batch-cluster --type amlcompute --min-instances 0 --max-instances 5"
UPDATE = "ml batch-endpoint update --name $E --set defaults.deployment_name=$D"
DEPLOY = "ml batch-deployment create --f sample/deployment.yml"
MODEL = "model=azureml://registries/r/models/m/versions/1"
INPUT = "azureml://datastores/workspaceblobstore/paths/new"
IDIOMS = f"""
az configure --defaults workspace=W group=G location=eastus
az {CREATE}
if az ml compute show --name batch-cluster; then echo exists; fi
if az ml compute show --name nope; then echo wrong; else echo "missing $?"; fi
az ml model create --f sample/model.yml
E=heart-classifier-batch D=classifier-xgboost
az ml batch-endpoint create --name $E
az {DEPLOY} --endpoint $E --set-default --set compute=azureml:batch-cluster
az {DEPLOY} --name other --set endpoint_name=$E {MODEL} compute=azureml:batch-cluster
az {UPDATE}
echo "default $(az ml batch-endpoint show --name $E --query defaults.deployment_name -o tsv)"
JOB=$(az ml batch-endpoint invoke -n $E --input {INPUT} --input-type uri_folder --query name -o tsv)
NAMES=$(az ml batch-deployment list-jobs --name $D --endpoint-name $E --query [].name)
echo "jobs $(echo "$NAMES" | grep -c "$JOB")"
echo "states $(az ml compute list --query "[].{{Name:name,State:provisioning_state}}" -o tsv)"
az ml batch-endpoint delete --name $E --yes
az ml batch-endpoint list --query '[].name' -o tsv
"""
SAID = [
    "exists",
    "missing 3",
    "default classifier-xgboost",
    "jobs 1",
    "states batch-cluster\tSucceeded",
]


def run(script: str, folder: Path, program: str = "bash") -> subprocess.CompletedProcess[str]:
    """Run a script in a folder with the sample, where `mlctl` is on the path and `az` is not."""
    shutil.copytree(LOW_PRIORITY, folder / "sample")
    mlctl = folder / "bin" / "mlctl"
    mlctl.parent.mkdir()
    mlctl.write_text(f"#!{sys.executable}\nfrom mlctl.cli import main\n\nmain()\n")
    mlctl.chmod(0o755)
    known = shell.environment(folder)
    path = os.pathsep.join([str(mlctl.parent), "/usr/bin", "/bin"])
    globs = ["-o", "nonomatch"] if program == "zsh" else []  # `[].name` is no pattern to az's users
    return subprocess.run(
        [str(shutil.which(program)), *globs, "-eu", "-c", script],
        cwd=folder,
        env=known | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def own_words(out: str) -> list[str]:
    """The lines that the script itself prints."""
    begins = ("exists", "missing", "wrong", "default ", "jobs ", "states ")
    return [line for line in out.splitlines() if line.startswith(begins)]


def test_scripts_run_with_mlctl_in_place_of_az_ml(tmp_path: Path) -> None:
    done = run(
        IDIOMS.replace("az ml ", "mlctl ").replace("az configure", "mlctl configure"), tmp_path
    )
    assert (done.returncode, own_words(done.stdout)) == (0, SAID), done.stderr


@pytest.mark.parametrize("program", SHELLS)
def test_scripts_run_as_they_are_through_the_shim(tmp_path: Path, program: str) -> None:
    done = run(f'eval "$(mlctl az-shim)"\n{IDIOMS}', tmp_path, program)
    assert (done.returncode, own_words(done.stdout)) == (0, SAID), done.stderr


def test_the_shim_gives_the_rest_to_the_real_az(tmp_path: Path) -> None:
    real = 'mkdir -p real && printf "#!/bin/sh\\necho real \\$*\\n" > real/az && chmod +x real/az'
    script = (
        f'{real}; PATH="$PWD/real:$PATH"; eval "$(mlctl az-shim)"; az login; az ml job x -f j.yml'
    )
    done = run(f"{script}; az configure --defaults group=g; az ml compute list", tmp_path)
    assert done.stdout.splitlines() == [
        "real login",
        "real ml job x -f j.yml",
        "real configure --defaults group=g",
        "[]",
    ]


@pytest.mark.parametrize("program", SHELLS)
def test_the_shim_bears_lines_of_any_length_where_there_is_no_az(
    tmp_path: Path, program: str
) -> None:
    lines = ("az", "az ml", "az ml compute", "az ml compute -h", "az ml workspace show", "az login")
    script = "\n".join(f"{line} >/dev/null || echo states {line}: $?" for line in lines)
    done = run(f'eval "$(mlctl az-shim)"\n{script}', tmp_path, program)
    assert own_words(done.stdout) == [
        "states az: 127",
        "states az ml compute: 2",
        "states az ml workspace show: 2",
        "states az login: 127",
    ]
    assert "az login: mlctl stands for 'az ml' only" in done.stderr
    assert "'workspace' is misspelled or not recognized" in done.stderr
