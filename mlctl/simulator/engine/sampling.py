"""Service times and failures of mini-batches, reproducible from the seed: each is sampled once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from math import floor, log

from mlctl.simulator.engine import rng
from mlctl.simulator.engine.jobs import BatchJob
from mlctl.simulator.engine.model import BatchSpec

_BLOCK = 256  # times that are sampled at once: an even number, as normal numbers come in pairs


def sample_job(seed: str, job: BatchJob) -> None:
    """Sample a job's failures, and the service times of what has begun, unless done already."""
    if job.samples is None:
        job.samples = service_times(seed, job.spec)
        job.attempts_to_fail = failing_attempts(seed, job.spec)
    while len(job.times) < max(job.next_new, 1):
        sample_more(job)


def sample_more(job: BatchJob) -> None:
    """Sample the service times of some more mini-batches, which must exist."""
    assert job.samples is not None
    times = next(job.samples)
    job.times += times
    job.has_timeouts = job.has_timeouts or max(times) > job.spec.timeout_s


def service_times(seed: str, spec: BatchSpec) -> Iterator[list[float]]:
    """Yield the service times of mini-batches in seconds, in blocks; reruns take equally long."""
    total, work = spec.mini_batches, spec.workload
    if work.trace:
        yield list(islice(cycle(work.trace), total))
        return
    seconds, last = work.seconds_of(spec.mini_batch_size), work.seconds_of(spec.files_in(total - 1))
    if work.cv == 0:
        yield [seconds] * (total - 1) + [last]
        return
    random = rng.generator(f"{seed}/service/{spec.name}").random
    for first in range(0, total, _BLOCK):
        count = min(_BLOCK, total - first)
        if last == seconds or first + count < total:
            yield rng.log_normals(seconds, work.cv, count, random)
        else:
            *factors, final = rng.log_normals(1.0, work.cv, count, random)
            yield [seconds * factor for factor in factors] + [last * final]


def failing_attempts(seed: str, spec: BatchSpec) -> dict[int, int]:
    """Return mini-batch -> the number of attempts that fail before one succeeds, if not 0.

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
