"""What is asked for when a job is submitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlctl.pointer import Data
from mlctl.workload import DEFAULT_NAME, Workload


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to submit: its name (None: one is made up), ARM's properties, how much work there is.

    A step of a pipeline has the workload that is stored under its name, or else `workload_name`;
    `workload` goes over both.
    """

    name: str | None
    properties: Mapping[str, Data]
    workload: Workload = Workload()
    workload_name: str = DEFAULT_NAME
