"""Jobs from the shell: invoked, shown, listed, waited for and cancelled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Done, Run, edit

ENDPOINT = ("-n", "heart-classifier-batch")
DEPLOYMENT = ("-n", "classifier-xgboost", "-e", "heart-classifier-batch")
AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
TRAINING = SAMPLES / "training"
URI = ("--input", "https://host/folder", "--input-type", "uri_folder")


@pytest.fixture
def cloud(applied: Run) -> Run:
    """The sample on a cloud whose nodes come at once; a mini-batch takes 100 s."""
    applied("local", "delays", "set", *AT_ONCE)
    applied("local", "workload", "set", "--seconds-per-mini-batch", "100")
    return applied


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


def script(at: float, node: int | str) -> Path:
    """Write a script of one loss."""
    file = Path("script.json")
    file.write_text(json.dumps([[at, node]]))
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


def test_an_input_is_named_by_the_id_of_its_data_asset(cloud: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n")
    made = ("data", "create", "-n", "rows", "-v", "1", "--path", "rows.csv", "--type", "uri_file")
    asset = cloud(*made).json["id"]
    typed = ("--set", "inputs.rows.type=uri_file", f"inputs.rows.path={asset}")
    for line in (("--input", asset), typed):
        invoked = cloud("batch-endpoint", "invoke", *ENDPOINT, *line)
        assert (invoked.code, wait(cloud, invoked.json["name"])["status"]) == (0, "Completed")


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


def test_what_a_job_does_not_say_of_retries_the_deployment_says(cloud: Run) -> None:
    slow = ("--seconds-per-mini-batch", "400", "--set", "retry_settings.max_retries=0")
    line = ("batch-endpoint", "invoke", *ENDPOINT, "--files", "8", "-m", "2", *slow)
    ended = wait(cloud, cloud(*line).json["name"])
    assert (ended["mini_batches"]["attempts"], ended["makespan_s"]) == (4, 300)


def test_nodes_are_taken_away_one_by_one(cloud: Run) -> None:
    cloud("local", "delays", "set", "--replacement", "1h")
    invoke(cloud)
    cloud("local", "preempt", "low-pri-cluster")
    counts = cloud("compute", "show", "-n", "low-pri-cluster", "--query", "node_counts").json
    assert (counts["running"], counts["preempted"]) == (1, 1)


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
    (("local", "workload", "set"), "describe the work"),
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


def test_a_stream_tells_what_happens_but_mini_batches_that_go_well(cloud: Run) -> None:
    cloud("local", "preemption", "set", "--script", script(250, 0))
    cloud("local", "delays", "set", "--allocation", "100")
    told = cloud("job", "stream", "-n", invoke(cloud, "-c", "2"))
    words = [line.split()[1] for line in told.out.splitlines()]
    assert {"JOB_RUNNING", "PREEMPT", "MB_LOST", "RESTORED", "JOB_ENDED"} <= {*words}
    assert not {"MB_START", "MB_DONE"} & {*words}


def test_the_event_log_is_the_same_for_one_seed_to_the_byte(mlctl: Run, sample: Path) -> None:
    logs = []
    for file in ("one.jsonl", "two.jsonl"):
        mlctl("local", "reset", "--seed", "7", "--yes")
        mlctl("apply", sample, "--yes")
        mlctl("local", "preemption", "set", "--poisson", "2", "--shock", "2,0.5")
        mlctl("job", "stream", "-n", invoke(mlctl, files=50), "--events", file)
        logs.append(Path(file).read_bytes())
    assert logs[0] == logs[1]
    assert len(logs[0].splitlines()) > 100


def test_the_event_log_has_every_mini_batch(cloud: Run) -> None:
    job = invoke(cloud)
    ended = wait(cloud, job)
    cloud("job", "stream", "-n", job, "--events", "log.jsonl")
    events = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    done = [event for event in events if event["event"] == "MB_DONE"]
    assert len(done) == ended["mini_batches"]["completed"] == 20
    assert {event["job"] for event in done} == {job}
    assert (events[0]["event"], events[-1]["event"]) == ("SUBMIT", "JOB_ENDED")
    assert (events[0]["t"], events[-1]["t"]) == (0, ended["makespan_s"])


def test_other_seeds_have_other_luck(mlctl: Run, sample: Path) -> None:
    makespans = set()
    for seed in ("1", "2", "3"):
        mlctl("local", "reset", "--seed", seed, "--yes")
        mlctl("apply", sample, "--yes")
        makespans.add(wait(mlctl, invoke(mlctl, "--cv", "0.5"))["makespan_s"])
    assert len(makespans) == 3


def train(mlctl: Run, *arguments: str | Path, file: Path = TRAINING / "job.yml") -> Any:
    """A new training job on a cloud whose nodes come at once."""
    mlctl("apply", TRAINING / "cluster.yml", "--yes")
    mlctl("local", "delays", "set", *AT_ONCE)
    return mlctl("job", "create", "-f", file, *arguments).json


def test_a_training_job_goes_on_from_its_last_complete_checkpoint(mlctl: Run) -> None:
    job = train(mlctl, "--checkpoint-every", "10")["name"]
    mlctl("local", "preemption", "set", "--script", script(27 * 60 + 30, 0))
    ended = wait(mlctl, job)
    assert (ended["status"], ended["restarts"], ended["lost_node_s"]) == ("Completed", 1, 450)
    assert ended["metric_points"] == 107


def test_a_training_job_without_checkpoints_begins_again(mlctl: Run) -> None:
    job = train(mlctl)["name"]
    mlctl("local", "preemption", "set", "--script", script(27 * 60, 0))
    assert wait(mlctl, job)["makespan_s"] == 127 * 60


def test_the_metrics_of_a_restarted_job_repeat_its_steps(mlctl: Run) -> None:
    job = train(mlctl, "--steps", "5")["name"]
    mlctl("local", "preemption", "set", "--script", script(181, 0))
    wait(mlctl, job)
    points = mlctl("job", "metrics", "-n", job, "-o", "json").json
    assert [point["step"] for point in points] == [1, 2, 3, 1, 2, 3, 4, 5]
    assert [point["run"] for point in points] == [1, 1, 1, 2, 2, 2, 2, 2]
    assert "run 2" in mlctl("job", "metrics", "-n", job, "-o", "chart").out


def test_metrics_events_and_the_stream_of_a_job_have_one_clock(mlctl: Run) -> None:
    """The second since the job was submitted, however old the cloud is."""
    mlctl("local", "advance", "1h")
    job = train(mlctl, "--steps", "5", "--checkpoint-every", "2")["name"]
    told = mlctl("job", "stream", "-n", job, "--events", "log.jsonl").out.splitlines()
    events = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    points = mlctl("job", "metrics", "-n", job, "-o", "json").json
    assert [one["at_s"] for one in points] == [60, 120, 180, 240, 300]
    assert told[0].startswith("00:00:00  SUBMIT")
    assert told[-1].startswith("00:05:00  JOB_ENDED")
    assert events[-1]["t"] == 300
    steps = [one for one in events if one["event"] == "STEPS"]
    assert [f"began={one['began']}" in "\n".join(told) for one in steps] == [True] * len(steps)
    assert "00:03:00 run 1" in mlctl("job", "metrics", "-n", job, "-o", "chart").out


def test_a_run_that_logs_one_step_is_a_run(mlctl: Run) -> None:
    job = train(mlctl, "--steps", "2")["name"]
    mlctl("local", "preemption", "set", "--script", script(61, 0))
    wait(mlctl, job)
    points = mlctl("job", "metrics", "-n", job, "-o", "json").json
    assert [(point["run"], point["step"]) for point in points] == [(1, 1), (2, 1), (2, 2)]


def test_a_training_job_is_cancelled_when_its_time_is_over(mlctl: Run) -> None:
    job = train(mlctl, "--seconds-per-step", "60", "--set", "limits.timeout=600")["name"]
    ended = wait(mlctl, job)
    assert (ended["status"], ended["makespan_s"]) == ("Canceled", 600)


def test_outputs_are_kept_and_logs_are_those_of_the_last_run(mlctl: Run) -> None:
    job = train(mlctl, "--checkpoint-every", "10", "--seconds-per-checkpoint", "60")["name"]
    mlctl("local", "preemption", "set", "--script", script(22 * 60 - 30, 0))
    wait(mlctl, job)
    mlctl("job", "download", "-n", job, "--all", "-p", "down")
    names = {file.name for file in Path("down/artifacts/outputs/checkpoints").iterdir()}
    complete = {f"step-{step:06}.ckpt" for step in range(10, 91, 10)}
    assert names == {*complete, "step-000020.ckpt.partial"}
    log = Path("down/artifacts/user_logs/std_log.txt").read_text().splitlines()
    assert [log[0].split()[-1], log[-1].split()[-1]] == ["11", "100"]


def test_a_serverless_spot_job_has_nodes_of_its_own_that_can_be_lost(mlctl: Run) -> None:
    job = train(mlctl, "--steps", "10", file=TRAINING / "spot-job.yml")["name"]
    mlctl("local", "preemption", "set", "--script", script(90, 0))
    ended = wait(mlctl, job)
    assert (ended["status"], ended["preempted_nodes"]) == ("Completed", 1)


def test_a_job_that_names_no_cluster_that_is_there_is_not_found(mlctl: Run) -> None:
    assert mlctl("job", "create", "-f", TRAINING / "job.yml").code == 3


def test_a_job_is_validated_before_it_is_submitted(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text("type: command\ncomand: x\nenvironment: azureml:e:1\n")
    said = mlctl("job", "create", "-f", "job.yml")
    assert (said.code, "did you mean `command`?" in said.err) == (1, True)


def test_a_job_can_be_streamed_as_it_is_submitted_and_saved(mlctl: Run) -> None:
    mlctl("apply", TRAINING / "cluster.yml", "--yes")
    said = mlctl("job", "create", "-f", TRAINING / "job.yml", "-s", "-a", "saved.yml", "-n", "mine")
    assert (said.code, "JOB_ENDED" in said.out) == (0, True)
    assert "name: mine" in Path("saved.yml").read_text()


def test_the_name_of_a_job_is_taken_for_ever(mlctl: Run) -> None:
    train(mlctl, "-n", "mine")
    again = mlctl("job", "create", "-f", TRAINING / "job.yml", "-n", "MINE")
    assert (again.code, "taken" in again.err) == (1, True)


def test_the_predictions_of_a_batch_job_can_be_downloaded(cloud: Run) -> None:
    job = invoke(cloud)
    wait(cloud, job)
    cloud("job", "download", "-n", job, "--output-name", "score")
    assert len(Path("named-outputs/score/predictions.csv").read_text().splitlines()) == 20
    assert cloud("job", "download", "-n", job, "--output-name", "nothing").code == 3


def test_a_cluster_waits_for_capacity_and_takes_what_there_is(cloud: Run) -> None:
    cloud("local", "capacity", "set", "--nodes", "1", "--tier", "low_priority")
    assert wait(cloud, invoke(cloud))["makespan_s"] == 2000


def test_dedicated_nodes_are_never_preempted(mlctl: Run, sample: Path) -> None:
    edit(sample / "low-pri-cluster.yml", "tier: low_priority", "tier: dedicated")
    mlctl("apply", sample, "--yes")
    mlctl("local", "preemption", "set", "--poisson", "50", "--shock", "10,1")
    assert wait(mlctl, invoke(mlctl))["preempted_nodes"] == 0
    refused = mlctl("local", "preempt", "low-pri-cluster")
    assert (refused.code, "dedicated" in refused.err) == (1, True)


def test_what_takes_nodes_away_combines_and_ends(cloud: Run) -> None:
    cloud("local", "preemption", "set", "--hyper-exponential", "8,2", "--shock", "8,0.5")
    cloud("local", "settings", "set", "cancel_when_preempted=no")
    assert wait(cloud, invoke(cloud))["preempted_nodes"] > 0
    cloud("local", "preemption", "set", "--none")
    assert wait(cloud, invoke(cloud))["preempted_nodes"] == 0


def test_no_losses_at_a_rate_of_nothing(cloud: Run) -> None:
    assert cloud("local", "preemption", "set", "--none").code == 0
    assert wait(cloud, invoke(cloud))["preempted_nodes"] == 0


def test_classic_jobs_without_a_pool_share_a_queue(mlctl: Run) -> None:
    mlctl("local", "tenancy", "set", "--slots", "1")
    line = ("batch-pool", "submit", "--duration", "1h", "--query", "name", "-o", "tsv")
    names = [mlctl(*line).out.strip() for _ in range(3)]
    assert [wait(mlctl, name)["makespan_s"] for name in names] == [3600, 7200, 10_800]


def test_a_pool_that_is_not_there_takes_no_jobs(mlctl: Run) -> None:
    assert mlctl("batch-pool", "submit", "-n", "nothing", "--duration", "1h").code == 3


def test_a_pipeline_deployment_runs_the_steps_of_its_component(mlctl: Run) -> None:
    mlctl("apply", SAMPLES / "pipeline-batch", "--yes")
    line = (
        "batch-endpoint",
        "invoke",
        "-n",
        "word-count-batch",
        "--inputs",
        "texts=https://host/a",
    )
    job = mlctl(*line, "--files", "50", "--seconds-per-file", "2").json
    assert (job["type"], job["compute"]) == ("pipeline", "pipeline-cluster")
    assert wait(mlctl, job["name"])["status"] == "Completed"
    steps = mlctl("job", "list", "--parent-job-name", job["name"]).json
    assert [each["status"] for each in steps] == ["Completed"] * job["children"]["total"]
    assert {each["parent_job_name"] for each in steps} == {job["name"]}


def test_an_archived_job_is_listed_only_where_that_is_asked_for(cloud: Run) -> None:
    def listed(*flags: str) -> list[str]:
        return [each["name"] for each in cloud("job", "list", *flags).json]

    name = invoke(cloud)
    assert cloud("job", "archive", "-n", name).code == 0
    assert listed() == []
    assert listed("--archived-only") == listed("--include-archived") == [name]
    assert cloud("job", "restore", "-n", name).code == 0
    assert (listed(), listed("--archived-only")) == ([name], [])
    assert cloud("job", "archive", "-n", "none").code == 3


def test_the_files_of_a_job_are_its_output_default(mlctl: Run) -> None:
    mlctl("apply", TRAINING / "cluster.yml", "--yes")
    mlctl("job", "create", "-f", TRAINING / "job.yml", "-n", "fit", "--stream")
    mlctl("job", "download", "-n", "fit", "--output-name", "default", "-p", "left")
    assert [entry.name for entry in Path("left").iterdir()] == ["artifacts"]


def test_an_output_that_a_job_does_not_have_stops_no_script_for_az(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlctl("apply", TRAINING / "cluster.yml", "--yes")
    mlctl("job", "create", "-f", TRAINING / "job.yml", "-n", "fit", "--stream")
    line = ("job", "download", "-n", "fit", "--output-name", "scores", "-p", "left")
    assert mlctl(*line).code == 3
    monkeypatch.setenv("MLCTL_AS_AZ", "1")
    downloaded = mlctl(*line)
    assert (downloaded.code, Path("left").exists()) == (0, False)
    assert "WARNING: job fit has no output `scores`" in downloaded.err
