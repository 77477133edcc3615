"""How long each mini-batch of a job takes and how often it fails: drawn once, by its number."""

from __future__ import annotations

from itertools import cycle, islice
from math import exp, floor, log

from mlctl.simulator.engine import rng
from mlctl.simulator.engine.jobs import BatchJob
from mlctl.simulator.engine.model import BatchSpec


def sample_job(seed: str, job: BatchJob) -> None:
    """Draw what is drawn once, when it is first needed: the same whenever that is."""
    if not job.times:
        job.times = service_times(seed, job.spec)
        job.attempts_to_fail = failing_attempts(seed, job.spec)
        job.has_timeouts = max(job.times) > job.spec.timeout_s


def mini_batches(spec: BatchSpec) -> int:
    """How many mini-batches there are."""
    return -(-spec.files // spec.mini_batch_size)


def files_in(spec: BatchSpec, batch: int) -> int:
    """How many files a mini-batch has; the last one has what is left."""
    return min(spec.mini_batch_size, spec.files - batch * spec.mini_batch_size)


def service_times(seed: str, spec: BatchSpec) -> list[float]:
    """The seconds that each mini-batch takes, attached to it: a rerun takes as long."""
    total, load = mini_batches(spec), spec.workload
    if load.trace:
        return list(islice(cycle(load.trace), total))
    full = load.per_mini_batch_s + spec.mini_batch_size * load.per_file_s
    times = [full] * total
    times[-1] = load.per_mini_batch_s + files_in(spec, total - 1) * load.per_file_s
    if load.cv == 0:
        return times
    mu, sigma = rng.log_normal_of(load.cv)
    gauss = rng.generator(f"{seed}/service/{spec.name}").gauss
    return [seconds * exp(gauss(mu, sigma)) for seconds in times]


def failing_attempts(seed: str, spec: BatchSpec) -> dict[int, int]:
    """How many attempts at a mini-batch fail before one succeeds, where any does.

    Attempts fail independently with the same probability, so their number is geometric. An attempt
    that a preemption cut off did not come to its end, and the next is as likely to fail.
    """
    probability = spec.workload.fail_probability
    if probability <= 0:
        return {}
    if probability >= 1:
        return dict.fromkeys(range(mini_batches(spec)), spec.max_retries + 1)
    sample_job = rng.generator(f"{seed}/failures/{spec.name}").random
    scale = 1 / log(probability)
    failures = (
        (batch, floor(log(1 - sample_job()) * scale)) for batch in range(mini_batches(spec))
    )
    return {batch: times for batch, times in failures if times}
