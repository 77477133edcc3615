"""Waiting in queues, in closed form: jobs that come at random times, and servers that take them.

Arrivals are a Poisson process. With exponential durations, A. K. Erlang (1917); with one server and
any durations, F. Pollaczek (1930) and A. Khinchine (1932). Times are seconds, rates per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log


@dataclass(frozen=True, slots=True)
class Queue:
    """`servers` that take jobs first come, first served; `cv` is the spread of their durations.

    `cv` is the coefficient of variation: 0 for equal durations, 1 for exponential ones.
    """

    servers: int
    rate: float
    service_s: float
    cv: float

    @property
    def load(self) -> float:
        """The work that comes, in servers that are always busy."""
        return self.rate * self.service_s

    @property
    def is_stable(self) -> bool:
        """Whether the queue does not grow without end."""
        return self.load < self.servers


def waits(queue: Queue) -> float | None:
    """The chance that a job has to wait; None where there is no closed form."""
    if not queue.is_stable:
        return 1.0
    if queue.servers == 1:
        return queue.load
    return erlang_c(queue.servers, queue.load) if queue.cv == 1 else None


def wait(queue: Queue) -> float | None:
    """How long jobs wait on average; None where there is no closed form, infinite if unstable."""
    if not queue.is_stable:
        return inf
    if queue.servers == 1:
        spread = (1 + queue.cv**2) / 2
        return queue.load * queue.service_s * spread / (1 - queue.load)
    chance = waits(queue)
    spare = (queue.servers - queue.load) / queue.service_s
    return None if chance is None else chance / spare


def wait_at(queue: Queue, q: float) -> float | None:
    """The wait that a share `q` of the jobs does not exceed; of exponential durations only."""
    chance = waits(queue)
    if queue.cv != 1 or chance is None:
        return None
    if not queue.is_stable:
        return inf
    spare = (queue.servers - queue.load) / queue.service_s
    return max(log(chance / (1 - q)) / spare, 0.0) if chance > 0 else 0.0


def erlang_c(servers: int, load: float) -> float:
    """The chance that all of so many servers are busy, at a load of fewer servers than there are.

    By the recursion of Erlang's B formula, which loses no digits.
    """
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))
