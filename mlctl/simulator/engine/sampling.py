"""Service times and failures of mini-batches: sampled once per job, reproducible from the seed."""

from __future__ import annotations

from itertools import cycle, islice
from math import floor, log
from operator import mul

from mlctl.simulator.engine import rng
from mlctl.simulator.engine.jobs import BatchJob
from mlctl.simulator.engine.model import BatchSpec


def sample_job(seed: str, job: BatchJob) -> None:
    """Sample a job's service times and failures, unless that has been done."""
    if not job.times:
        job.times = service_times(seed, job.spec)
        job.attempts_to_fail = failing_attempts(seed, job.spec)
        job.has_timeouts = max(job.times) > job.spec.timeout_s


def service_times(seed: str, spec: BatchSpec) -> list[float]:
    """The service time of each mini-batch in seconds; a rerun takes the same time."""
    total, work = spec.mini_batches, spec.workload
    if work.trace:
        return list(islice(cycle(work.trace), total))
    times = [work.seconds_of(spec.mini_batch_size)] * total
    times[-1] = work.seconds_of(spec.files_in(total - 1))
    if work.cv == 0:
        return times
    return list(map(mul, times, rng.log_normals(work.cv, total, f"{seed}/service/{spec.name}")))


def failing_attempts(seed: str, spec: BatchSpec) -> dict[int, int]:
    """Mini-batch -> the number of attempts that fail before one succeeds, where it is not 0.

    Attempts fail independently with the same probability, so the number is geometric. An attempt
    that a preemption cut off does not count: the next attempt has the same probability to fail.
    """
    probability = spec.workload.fail_probability
    if probability <= 0:
        return {}
    if probability >= 1:
        return dict.fromkeys(range(spec.mini_batches), spec.max_retries + 1)
    sample_job = rng.generator(f"{seed}/failures/{spec.name}").random
    scale = 1 / log(probability)
    failures = ((batch, floor(log(1 - sample_job()) * scale)) for batch in range(spec.mini_batches))
    return {batch: times for batch, times in failures if times}
