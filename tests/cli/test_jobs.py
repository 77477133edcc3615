"""Jobs from the shell: invoked, shown, listed, waited for and cancelled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shell import Done, Run

ENDPOINT = ("-n", "heart-classifier-batch")
DEPLOYMENT = ("-n", "classifier-xgboost", "-e", "heart-classifier-batch")
AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
URI = ("--input", "https://host/folder", "--input-type", "uri_folder")


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample on a cloud whose nodes come at once; a mini-batch takes 100 s."""
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", *AT_ONCE)
    mlctl("local", "workload", "set", "--seconds-per-mini-batch", "100")
    return mlctl


def invoke(cloud: Run, *arguments: str | Path, files: int = 20) -> str:
    """The name of a new job on two nodes with a slot each."""
    slots = ("-m", "1", "--set", "max_concurrency_per_instance=1")
    given = ("--files", str(files), *slots, *arguments, "--query", "name", "-o", "tsv")
    return cloud("batch-endpoint", "invoke", *ENDPOINT, *given).out.strip()


def wait(cloud: Run, job: str) -> Any:
    """The job at its end."""
    return cloud("job", "wait", "-n", job).json


def trace(folder: Path, *nodes: int, gap: int = 300) -> Path:
    """Write a capacity trace."""
    file = folder / "trace.json"
    file.write_text(json.dumps({"metadata": {"gap_seconds": gap}, "data": nodes}))
    return file


def everything(cloud: Run) -> list[Any]:
    """What there is to see: clusters, jobs and the clock."""
    asked = (("compute", "list"), ("job", "list"), ("local", "status"))
    return [cloud(*one).json for one in asked]


def test_the_idiom_of_the_documentation_gives_the_name_of_a_job(cloud: Run) -> None:
    said = cloud("batch-endpoint", "invoke", *ENDPOINT, *URI, "--query", "name", "-o", "tsv")
    assert said.code == 0
    assert cloud("job", "show", "-n", said.out.strip()).json["status"] == "Running"


def test_a_job_runs_while_the_clock_advances(cloud: Run) -> None:
    job = invoke(cloud)
    cloud("local", "advance", "250s")
    shown = cloud("job", "show", "-n", job).json
    assert (shown["status"], shown["mini_batches"]["completed"]) == ("Running", 4)
    assert (shown["makespan_s"], shown["billed_node_s"]) == (None, 500)


def test_a_cluster_shows_its_nodes_while_a_job_runs(cloud: Run) -> None:
    invoke(cloud)
    shown = cloud("compute", "show", "-n", "low-pri-cluster").json
    assert (shown["current_node_count"], shown["target_node_count"]) == (2, 2)
    assert shown["node_counts"]["running"] == 2
    nodes = cloud("compute", "list-nodes", "-n", "low-pri-cluster").json
    assert [node["node_state"] for node in nodes] == ["running", "running"]


def test_a_cluster_scales_down_when_its_nodes_have_been_idle(cloud: Run) -> None:
    wait(cloud, invoke(cloud))
    query = ("-n", "low-pri-cluster", "--query", "current_node_count")
    counts = [cloud("compute", "show", *query).json]
    cloud("local", "advance", "120s")
    assert [*counts, cloud("compute", "show", *query).json] == [2, 0]


def test_waiting_moves_the_clock_to_the_end_of_the_job(cloud: Run) -> None:
    job = wait(cloud, invoke(cloud))
    assert (job["status"], job["makespan_s"]) == ("Completed", 1000)
    assert cloud("local", "status").json["time"] == job["end_time"]


def test_the_numbers_of_a_run_are_those_of_the_portal(cloud: Run, tmp_path: Path) -> None:
    cloud("local", "preemption", "set", "--trace", trace(tmp_path, 2, 2, 1, 0, 0, 2))
    cloud("local", "settings", "set", "cancel_when_preempted=false")
    job = wait(cloud, invoke(cloud))
    assert (job["preempted_nodes"], job["preempted_cores"], job["lost_node_s"]) == (2, 8, 0)
    assert job["mini_batches"] == {"total": 20, "completed": 20, "failed": 0, "attempts": 22}
    assert job["warning"].startswith("Low priority compute preemption warning")


def test_a_job_that_lost_all_its_nodes_is_cancelled_and_wait_says_so(
    cloud: Run, tmp_path: Path
) -> None:
    cloud("local", "preemption", "set", "--trace", trace(tmp_path, 2, 2, 1, 0, 0, 2))
    ended = cloud("job", "wait", "-n", invoke(cloud))
    assert (ended.code, ended.json["status"]) == (1, "Canceled")
    assert "preempted" in ended.json["reason"]


def test_a_job_can_be_submitted_again_after_it_was_cancelled(cloud: Run) -> None:
    first = invoke(cloud)
    cloud("local", "preempt", "low-pri-cluster", "--all")
    assert cloud("job", "show", "-n", first).json["status"] == "Canceled"
    assert wait(cloud, invoke(cloud))["status"] == "Completed"


def test_a_cancelled_job_cannot_be_cancelled_again(cloud: Run) -> None:
    job = invoke(cloud)
    assert cloud("job", "cancel", "-n", job).json["status"] == "Canceled"
    again = cloud("job", "cancel", "-n", job)
    assert (again.code, "Canceled" in again.err) == (1, True)


def test_a_job_that_is_not_there_is_not_found(cloud: Run) -> None:
    for verb in ("show", "cancel", "wait"):
        assert cloud("job", verb, "-n", "nothing").code == 3


def test_jobs_are_listed_by_workspace_endpoint_and_deployment(cloud: Run) -> None:
    names = [invoke(cloud), invoke(cloud)]
    asked = (
        ("job", "list"),
        ("batch-endpoint", "list-jobs", *ENDPOINT),
        ("batch-deployment", "list-jobs", *DEPLOYMENT),
    )
    for one in asked:
        assert cloud(*one, "--query", "[].name").json == names[::-1]


def test_the_jobs_of_what_is_not_there_are_not_found(cloud: Run) -> None:
    assert cloud("batch-endpoint", "list-jobs", "-n", "nothing").code == 3
    assert cloud("batch-deployment", "list-jobs", "-n", "nothing", "-e", ENDPOINT[1]).code == 3


def test_the_files_of_a_local_folder_are_counted(cloud: Run, tmp_path: Path) -> None:
    for number in range(5):
        file = tmp_path / "in" / str(number % 2) / f"{number}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1,2\n")
    job = cloud("batch-endpoint", "invoke", *ENDPOINT, "--input", tmp_path / "in").json
    assert job["mini_batches"]["total"] == 3
    assert job["inputs"]["UriFolder"]["type"] == "uri_folder"


def test_a_file_of_inputs_says_what_the_flags_say(cloud: Run, tmp_path: Path) -> None:
    (tmp_path / "inputs.yml").write_text(
        "inputs:\n  heart:\n    type: uri_folder\n    path: https://host/a\nmini_batch_size: 4\n"
    )
    job = cloud("batch-endpoint", "invoke", *ENDPOINT, "--f", "inputs.yml", "--files", "8").json
    assert job["inputs"] == {"heart": {"type": "uri_folder", "path": "https://host/a"}}
    assert job["mini_batches"]["total"] == 2


def test_a_flag_goes_over_the_workload_and_the_workload_over_nothing(cloud: Run) -> None:
    cloud("local", "workload", "set", "-n", "slow", "--seconds-per-mini-batch", "200")
    assert wait(cloud, invoke(cloud, "--workload", "slow"))["makespan_s"] == 2000
    assert wait(cloud, invoke(cloud, "--seconds-per-file", "10"))["makespan_s"] == 100


def test_service_times_can_come_from_a_file(cloud: Run, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text("[10, 20, 30, 40]")
    assert wait(cloud, invoke(cloud, "--trace", "times.json", files=4))["makespan_s"] == 60


BAD: list[tuple[tuple[str, ...], str]] = [
    (("batch-endpoint", "invoke", "-n", "nothing", *URI), "no batch-endpoint/nothing"),
    (("batch-endpoint", "invoke", *ENDPOINT, "-d", "nothing", *URI), "nothing"),
    (("batch-endpoint", "invoke", *ENDPOINT, "--input", "./missing"), "./missing"),
    (("batch-endpoint", "invoke", *ENDPOINT, "--input", "empty"), "empty"),
    (("batch-endpoint", "invoke", *ENDPOINT, "--workload", "nope", *URI), "nope"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--files", "0"), "files"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "-m", "0"), "miniBatchSize"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--seconds-per-file", "-1"), "negative"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--cv", "nan"), "cv"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--fail-probability", "2"), "between 0 and 1"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--trace", "bad.json"), "bad.json"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--set", "tire=1"), "tire"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "-f", "bad.yml"), "did you mean"),
    (("batch-endpoint", "invoke", *ENDPOINT, *URI, "--job-name", "a b"), "job name"),
    (("local", "preemption", "set", "--poisson", "-0.1"), "rate"),
    (("local", "preemption", "set", "--poisson", "often"), "often"),
    (("local", "preemption", "set", "--shock", "0.1"), "2 numbers"),
    (("local", "preemption", "set", "--shock", "0.1,1.5"), "between 0 and 1"),
    (("local", "preemption", "set", "--trace", "bad.json"), "trace"),
    (("local", "preemption", "set", "--trace", "missing.json"), "missing.json"),
    (("local", "preemption", "set", "--script", "bad.json"), "script"),
    (("local", "preemption", "set"), "--none"),
    (("local", "capacity", "set", "--nodes", "-1"), "not negative"),
    (("local", "capacity", "set", "--nodes", "1", "--none"), "one of"),
    (("local", "delays", "set", "--allocation", "soon"), "soon"),
    (("local", "settings", "set", "cancel=1"), "cancel"),
    (("local", "settings", "set", "p_unusable=2"), "p_unusable"),
    (("local", "workload", "set", "--fail-probability", "-1"), "between 0 and 1"),
    (("local", "workload", "set"), "say something"),
    (("local", "preempt", "nothing"), "nothing"),
    (("local", "preempt", "low-pri-cluster", "--nodes", "3"), "has not 3 nodes"),
]


@pytest.mark.parametrize(("line", "says"), BAD, ids=[" ".join(line) for line, _ in BAD])
def test_bad_input_is_a_clear_error_and_changes_nothing(
    cloud: Run, tmp_path: Path, line: tuple[str, ...], says: str
) -> None:
    (tmp_path / "bad.json").write_text('{"data": "no"}')
    (tmp_path / "bad.yml").write_text("inputts: {}\n")
    (tmp_path / "empty").mkdir()
    before = everything(cloud)
    said: Done = cloud(*line)
    assert said.code in (1, 2, 3)
    assert says in said.err
    assert "bug" not in said.err
    assert everything(cloud) == before


def test_a_locked_cluster_wants_to_grow_and_cannot(cloud: Run) -> None:
    cloud("local", "lock")
    job = invoke(cloud)
    waited = cloud("job", "wait", "-n", job)
    assert (waited.code, waited.json["status"]) == (1, "Queued")
    shown = cloud("compute", "show", "-n", "low-pri-cluster").json
    assert shown["allocation_state"] == "Resizing"
    assert (shown["current_node_count"], shown["target_node_count"]) == (0, 0)


def test_a_locked_cluster_cannot_be_deleted_until_it_is_unlocked(cloud: Run, sample: Path) -> None:
    cloud("local", "lock", "low-pri-cluster")
    assert "ScopeLocked" in cloud("destroy", sample, "--yes").err
    cloud("local", "lock", "--remove")
    assert cloud("destroy", sample, "--yes").code == 0


def test_a_job_fails_when_its_cluster_is_deleted(cloud: Run, sample: Path) -> None:
    job = invoke(cloud)
    cloud("destroy", sample, "--yes")
    assert cloud("job", "show", "-n", job).json["status"] == "Failed"
