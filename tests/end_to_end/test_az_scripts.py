"""What scripts say with `az ml` today: with `mlctl` in its place, and through the shim."""

from __future__ import annotations

import os
import shutil
import subprocess
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
    mlctl = shell.program(folder / "bin")
    known = shell.environment(folder)
    path = os.pathsep.join([str(mlctl.parent), "/usr/bin", "/bin"])
    globs = ["-o", "nonomatch"] if program == "zsh" else []  # `[].name` is no pattern to az's users
    return subprocess.run(
        [str(shutil.which(program)), *globs, "-eu", "-c", script],
        cwd=folder,
        env=known | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def own_words(out: str) -> list[str]:
    """The lines that the script itself prints."""
    begins = ("exists", "missing", "wrong", "default ", "jobs ", "states ")
    return [line for line in out.splitlines() if line.startswith(begins)]


@pytest.mark.slow
def test_scripts_run_with_mlctl_in_place_of_az_ml(tmp_path: Path) -> None:
    done = run(
        IDIOMS.replace("az ml ", "mlctl ").replace("az configure", "mlctl configure"), tmp_path
    )
    assert (done.returncode, own_words(done.stdout)) == (0, SAID), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("program", SHELLS)
def test_scripts_run_as_they_are_through_the_shim(tmp_path: Path, program: str) -> None:
    done = run(f'eval "$(mlctl az-shim)"\n{IDIOMS}', tmp_path, program)
    assert (done.returncode, own_words(done.stdout)) == (0, SAID), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("program", SHELLS)
def test_the_shim_reaches_the_scripts_that_a_script_runs(tmp_path: Path, program: str) -> None:
    script = """
    eval "$(mlctl az-shim)"
    echo 'az ml compute create -n cpu-cluster --type amlcompute -o none' > inner.sh
    mkdir -p sub
    (cd sub && sh ../inner.sh)
    printf 'all:\\n\\taz ml compute list --query [].name -o tsv\\n' > Makefile
    make -s
    """
    done = run(script, tmp_path, program)
    assert (done.returncode, done.stdout) == (0, "cpu-cluster\n"), done.stderr


@pytest.mark.slow
def test_the_shim_can_be_installed_for_the_steps_of_a_pipeline(tmp_path: Path) -> None:
    script = """
    mlctl az-shim --install tools
    PATH="$PWD/tools:$PATH" sh -c 'az ml compute list'
    """
    done = run(script, tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert "tools/az was written" in done.stderr


def test_where_the_shim_cannot_be_written_another_folder_is_asked_for(tmp_path: Path) -> None:
    done = run("touch tools; mlctl az-shim --install tools", tmp_path)
    assert (done.returncode, "name another --install DIR" in done.stderr) == (1, True)


REAL = 'mkdir -p real && printf "#!/bin/sh\\necho real \\$*\\n" > real/az && chmod +x real/az'
BOTH = f'{REAL}; PATH="$PWD/real:$PATH"; eval "$(mlctl az-shim{{flags}})"'
ELSEWHERE = (
    "az storage account list",
    "az ml data mount -n d",
    "az ml nonsense list",
    "az ml job creat",
    "az ml endpoint list",
    "az role definition list",
)


@pytest.mark.slow
def test_while_the_backend_is_local_no_line_reaches_azure(tmp_path: Path) -> None:
    lines = "\n".join(f"{line} || echo states {line}: $?" for line in ELSEWHERE)
    done = run(f"{BOTH.format(flags='')}\n{lines}", tmp_path)
    assert done.stdout.splitlines() == [f"states {line}: 2" for line in ELSEWHERE]
    assert "az storage account: the local cloud of mlctl stands for `az ml` only" in done.stderr
    assert "az ml data mount: the compute mounts" in done.stderr
    assert "az ml job creat: mlctl has no such command; it has `job create`" in done.stderr
    assert "az ml endpoint list: it is of the first extension" in done.stderr


@pytest.mark.slow
def test_what_was_allowed_to_pass_goes_to_the_real_az(tmp_path: Path) -> None:
    lines = "\n".join((*ELSEWHERE, "az login", "az ml compute list"))
    done = run(f"{BOTH.format(flags=' --pass-through')}\n{lines}", tmp_path)
    said = [f"real {line.removeprefix('az ')}" for line in (*ELSEWHERE, "az login")]
    assert done.stdout.splitlines() == [*said, "[]"]


@pytest.mark.slow
def test_on_the_azure_backend_the_rest_goes_to_the_real_az(tmp_path: Path) -> None:
    script = f"{BOTH.format(flags='')}; export MLCTL_BACKEND=azure; az login; az ml data mount -n d"
    done = run(script, tmp_path)
    assert done.stdout.splitlines() == ["real login", "real ml data mount -n d"]


def test_where_there_is_no_real_az_that_is_said(tmp_path: Path) -> None:
    done = run('eval "$(mlctl az-shim --pass-through)"; az login || echo states $?', tmp_path)
    assert done.stdout == "states 127\n"
    assert "the only az on the path is that of mlctl" in done.stderr


@pytest.mark.slow
def test_what_scripts_ask_before_they_begin_is_answered(tmp_path: Path) -> None:
    script = """
    eval "$(mlctl az-shim)"
    az extension add -n ml -y
    az login --service-principal -u x -p y --tenant z -o none
    az account set --subscription "Visual Studio"
    echo "states $(az configure -l --query "[?name=='workspace'].value" -o tsv)"
    az configure --defaults group=G workspace=W location=eastus
    echo "states $(az account show --query state -o tsv)"
    echo "states $(az group show --name other --query name -o tsv)"
    echo "states $(az group exists -n other)"
    echo "states $(az extension list --query [].name -o tsv)"
    echo "states $(az extension show -n ml --query name -o tsv)"
    az extension show --name aks-preview || echo states absent
    echo "states $(az version --query 'keys(@)[0]' -o tsv)"
    echo "states $(az group create -n g -l westeurope --query location -o tsv)"
    az ml workspace create -n held -g of-others -o none
    az group delete -n of-others < /dev/null || echo states asked
    az group delete -n of-others --yes --no-wait
    az ml workspace show -n held -g of-others -o none || echo states gone
    az config set defaults.group=H core.collect_telemetry=no
    echo "states $(az config get defaults.group --query value -o tsv)"
    az config unset defaults.group
    az configure --defaults resource_group=K
    echo "states $(az cloud show --query name -o tsv)"
    echo "states $(az account list-locations --query "[?name=='eastus'].name" -o tsv)"
    echo "states $(az provider list --query [].registrationState -o tsv)"
    az role assignment create --assignee x --role AcrPull --scope y
    az role assignment delete --assignee x --role AcrPull --scope y
    az upgrade --yes
    az cloud set -n AzureCloud
    az feature register --namespace Microsoft.MachineLearningServices -n X
    echo "states $(az ad signed-in-user show --query displayName -o tsv)"
    az account show -o nonsense || echo states $?
    """
    done = run(script, tmp_path)
    said = ["local", "Enabled", "other", "true", "ml", "ml", "absent", "azure-cli", "westeurope"]
    said += ["asked", "gone", "H", "AzureCloud", "eastus", "Registered"]
    said += ["mlctl", "2"]
    assert own_words(done.stdout) == [f"states {word}" for word in said], done.stderr


@pytest.mark.slow
def test_a_loop_that_waits_for_a_job_ends(tmp_path: Path) -> None:
    script = """
    eval "$(mlctl az-shim)"
    az ml compute create -n cpu-cluster --type amlcompute --max-instances 1 -o none
    job=$(az ml job create -f job.yml --web --query name -o tsv)
    looks=0
    while [ "$(az ml job show -n $job -e --query status -o tsv)" != Completed ]; do
      looks=$((looks + 1))
      [ $looks -lt 12 ]
    done
    echo "states $([ $looks -gt 1 ] && echo waited)"
    """
    (tmp_path / "job.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\n"
        "command: sleep 1\nenvironment: {image: ubuntu}\ncompute: azureml:cpu-cluster\n"
    )
    done = run(script, tmp_path)
    assert own_words(done.stdout) == ["states waited"], done.stderr
    assert done.stderr == ""  # notes are for terminals


@pytest.mark.slow
@pytest.mark.parametrize("program", SHELLS)
def test_the_shim_bears_lines_of_any_length(tmp_path: Path, program: str) -> None:
    lines = ("az", "az ml", "az ml compute", "az ml compute -h", "az ml registry show")
    script = "\n".join(f"{line} >/dev/null || echo states {line}: $?" for line in lines)
    done = run(f'eval "$(mlctl az-shim)"\n{script}', tmp_path, program)
    assert own_words(done.stdout) == [
        "states az: 2",
        "states az ml compute: 2",
        "states az ml registry show: 2",
    ]
