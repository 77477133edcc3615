"""The amount of work of a job, and its duration: only for simulated clouds."""

from __future__ import annotations

from mlctl.dataclasses import dataclass, fields, replace

DEFAULT_NAME = "default"  # the workload of jobs that name none
# Properties of a command job: the output in which its checkpoints are, and the job that has left
# those from which it goes on. On a simulated cloud it does.
CHECKPOINT, RESUMES = "mlctl.checkpoint", "mlctl.resumes"
_SERVICE = ("seconds_per_file", "seconds_per_mini_batch", "times")


@dataclass(frozen=True, slots=True)
class Workload:
    """The known amount of a job's work; None is unknown.

    Batch jobs: `files` in the input, and the time of each file, of each mini-batch, or `times` of
    one mini-batch after the other; the time until a node that comes to the job can work; `cv`
    spreads the times of mini-batches, `fail_probability` is of each attempt.
    Training jobs: steps, their time, the steps between checkpoints, the time to write one and to go
    on from one; `fail_probability` is of the command, after its last step. Times are seconds.
    """

    files: int | None = None
    seconds_per_file: float | None = None
    seconds_per_mini_batch: float | None = None
    seconds_per_start: float | None = None
    times: tuple[float, ...] | None = None
    cv: float | None = None
    fail_probability: float | None = None
    steps: int | None = None
    seconds_per_step: float | None = None
    checkpoint_every: int | None = None
    seconds_per_checkpoint: float | None = None
    seconds_to_restore: float | None = None

    def over(self, base: Workload) -> Workload:
        """Return this workload, completed by `base`.

        One that says anything about the time of a mini-batch says all about it.
        """
        values = {slot.name: getattr(self, slot.name) for slot in fields(self)}
        set_values = {name: value for name, value in values.items() if value is not None}
        if any(name in set_values for name in _SERVICE):
            set_values = {**dict.fromkeys(_SERVICE), **set_values}
        return replace(base, **set_values)
