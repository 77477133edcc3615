"""The simulated cloud, from the shell, against what probability says: fixed seeds, z below 4."""

from __future__ import annotations

from math import exp, expm1, sqrt
from pathlib import Path
from typing import Any

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

ENDPOINT = ("-n", "heart-classifier-batch")
AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
LONG = ("retry_settings.timeout=100000000", "max_concurrency_per_instance=1")
HOUR = 3_600
TRAINING = SAMPLES / "training"


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample on a cloud whose nodes come at once."""
    mlctl("local", "reset", "--seed", "1", "--yes")
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", *AT_ONCE)
    return mlctl


def nodes(cloud: Run, most: int) -> None:
    """Let the cluster have so many nodes."""
    assert (
        cloud("compute", "update", "-n", "low-pri-cluster", "--max-instances", str(most)).code == 0
    )


def losses(cloud: Run, rate: float, *settings: str) -> None:
    """Let each node be lost at a rate per hour."""
    assert cloud("local", "preemption", "set", "--poisson", str(rate)).code == 0
    if settings:
        assert cloud("local", "settings", "set", *settings).code == 0


def submit(cloud: Run, files: int, *work: str, size: int = 1, count: int = 1) -> str:
    """The name of a new job whose mini-batches never time out."""
    line = ("--files", str(files), "-m", str(size), "-c", str(count), *work, "--set", *LONG)
    made = cloud("batch-endpoint", "invoke", *ENDPOINT, *line, "--query", "name", "-o", "tsv")
    return made.out.strip()


def wait(cloud: Run, job: str) -> Any:
    """A job at its end."""
    return cloud("job", "wait", "-n", job, "--limit", "100000d").json


def ended(cloud: Run) -> list[Any]:
    """All jobs, once the last one that was submitted has ended."""
    names = cloud("job", "list", "--all-results", "--query", "[].name").json
    wait(cloud, names[0])
    return list(cloud("job", "list", "--all-results").json)


def mean(numbers: list[float]) -> float:
    """The average."""
    return sum(numbers) / len(numbers)


def near(expected: float, deviation: float, count: int) -> Any:
    """Within four standard errors of the mean of so many."""
    return pytest.approx(expected, abs=4 * deviation / sqrt(count))


def test_a_task_that_starts_again_after_each_loss_takes_as_long_as_theory_says(
    cloud: Run,
) -> None:
    rate, hours, tasks = 0.1, 2, 2_000
    nodes(cloud, 25)
    losses(cloud, rate, "cancel_when_preempted=false", "billing_granularity_s=0")
    work = ("--seconds-per-mini-batch", str(hours * HOUR))
    job = wait(cloud, submit(cloud, tasks, *work, count=25))
    lost = expm1(rate * hours)
    variance = (exp(2 * rate * hours) - 2 * rate * hours * exp(rate * hours) - 1) / rate**2
    assert (lost, lost / rate) == pytest.approx((0.221403, 2.214028), abs=1e-6)
    assert variance == pytest.approx(0.326359, abs=1e-6)
    assert job["mini_batches"]["attempts"] / tasks - 1 == near(lost, sqrt(lost + lost**2), tasks)
    busy = hours + job["lost_node_s"] / HOUR / tasks
    assert busy == near(lost / rate, sqrt(variance), tasks)


@pytest.mark.slow
def test_jobs_on_a_single_node_are_cancelled_as_often_as_theory_says(cloud: Run) -> None:
    rate, tasks, count = 0.2, 100, 150
    nodes(cloud, 1)
    losses(cloud, rate)
    for _ in range(count):
        submit(cloud, tasks, "--seconds-per-mini-batch", "60")
    jobs = ended(cloud)
    cancelled = -expm1(-rate * tasks / 60)
    assert cancelled == pytest.approx(0.283469, abs=1e-6)
    is_cancelled = [float(job["status"] == "Canceled") for job in jobs]
    assert mean(is_cancelled) == near(cancelled, sqrt(cancelled * (1 - cancelled)), count)
    done = [float(job["mini_batches"]["completed"]) for job in jobs]
    assert mean(done) == near(84.898951, 29, count)  # 29: of the simulated 84.885 +- .395
    hours = [job["billed_node_s"] / HOUR for job in jobs]
    assert mean(hours) == near(cancelled / rate, 0.48, count)


@pytest.mark.slow
def test_four_nodes_that_are_not_replaced_are_lost_after_the_fourth_harmonic_number(
    cloud: Run,
) -> None:
    rate, count = 0.5, 60
    nodes(cloud, 4)
    losses(cloud, rate, "replace=false")
    jobs = [
        wait(cloud, submit(cloud, 100, "--seconds-per-mini-batch", "9999999", count=4))
        for _ in range(count)
    ]
    assert {job["status"] for job in jobs} == {"Canceled"}
    assert {job["preempted_nodes"] for job in jobs} == {4}
    expected, deviation = (sum(each) for each in zip(*_lives(rate, 4), strict=True))
    assert expected == pytest.approx(4.166667, abs=1e-6)
    assert mean([job["makespan_s"] / HOUR for job in jobs]) == near(
        expected, sqrt(deviation), count
    )


def _lives(rate: float, count: int) -> list[tuple[float, float]]:
    """Mean and variance of the times between one loss and the next."""
    return [(1 / (rate * left), 1 / (rate * left) ** 2) for left in range(1, count + 1)]


@pytest.mark.parametrize(("size", "cost"), [(10, 2.0011), (593, 1.03409), (5000, 1.1553)])
def test_the_size_of_mini_batches_is_a_checkpoint_interval(
    cloud: Run, size: int, cost: float
) -> None:
    rate, files = 0.2 / HOUR, 10_000_000
    expected = expm1(rate * (size + 10)) / (rate * size)
    assert expected == pytest.approx(cost, abs=5e-5)
    nodes(cloud, 10)
    losses(cloud, 0.2, "cancel_when_preempted=false")
    work = ("--seconds-per-file", "1", "--seconds-per-mini-batch", "10")
    job = wait(cloud, submit(cloud, files, *work, size=size, count=10))
    busy = files + 10 * job["mini_batches"]["total"] + job["lost_node_s"]
    assert busy / files == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "tries", "chance"),
    [((), 3, 0.367695), (("retries_are_tries=false",), 4, 0.904833)],
)
def test_retries_save_as_many_jobs_as_theory_says(
    cloud: Run, settings: tuple[str, ...], tries: int, chance: float
) -> None:
    """`max_retries` is 3; a try fails once in ten."""
    count, files, failed = 60, 1000, 0.1
    if settings:
        assert cloud("local", "settings", "set", *settings).code == 0
    for _ in range(count):
        submit(cloud, files, "--fail-probability", str(failed), "--set", "error_threshold=0")
    jobs = ended(cloud)
    good = (1 - failed**tries) ** files
    assert good == pytest.approx(chance, abs=1e-6)
    completed = [float(job["status"] == "Completed") for job in jobs]
    assert mean(completed) == near(good, sqrt(good * (1 - good)), count)
    attempts = [
        float(job["mini_batches"]["attempts"]) for job in jobs if job["status"] == "Completed"
    ]
    expected = files * sum(failed**number for number in range(tries))
    assert mean(attempts) == near(expected, 11.1, len(attempts))


@pytest.mark.slow
@pytest.mark.parametrize(("every", "points", "spread"), [(0, 155.4675, 57), (10, 103.8509, 5.5)])
def test_a_restarted_training_job_logs_steps_again_as_often_as_theory_says(
    mlctl: Run, every: int, points: float, spread: float
) -> None:
    count, q = 100, exp(-0.5 / 60)
    kept = q ** (every or 100)  # the chance to come from one checkpoint to the next
    runs = 100 / (every or 100)
    assert q * (1 - kept) / ((1 - q) * kept) * runs == pytest.approx(points, abs=1e-4)
    mlctl("apply", TRAINING / "cluster.yml", "--yes")
    mlctl("local", "delays", "set", *AT_ONCE)
    losses(mlctl, 0.5)
    work = ("--steps", "100", "--seconds-per-step", "60", "--checkpoint-every", str(every))
    for _ in range(count):
        mlctl("job", "create", "-f", TRAINING / "job.yml", *work, "--set", "limits.timeout=9999999")
    assert mean([float(job["metric_points"]) for job in ended(mlctl)]) == near(
        points, spread, count
    )
