"""The commands of `mlctl local`."""

from __future__ import annotations

from mlctl.cli.local import cloud, code, faults, preemption, settings, suppose
from mlctl.cli.local.preemption import preemption_fit
from mlctl.cli.shell import Group
from mlctl.cli.shell.command import Commands

_LOCAL: Commands = {
    "status": cloud.status,
    "advance": cloud.advance,
    "reset": cloud.reset,
    "preempt": preemption.preempt,
    "suppose": suppose.suppose,
    "lock": preemption.lock,
    "usage": cloud.usage,
    "quota": Group("Core quotas of a region.", {"set": cloud.quota_set, "list": cloud.quota_list}),
    "delays": Group(
        "How long nodes take to start and stop.",
        {"set": settings.delays_set, "show": settings.delays_show},
    ),
    "settings": Group(
        "Settings of the simulated cloud.",
        {"set": settings.settings_set, "list": settings.settings_list},
    ),
    "tenancy": Group("The shared queue of classic jobs.", {"set": settings.tenancy_set}),
    "workload": Group(
        "How much work jobs have, and how long it takes.",
        {"set": settings.workload_set, "list": settings.workload_list},
    ),
    "preemption": Group(
        "How low-priority nodes are preempted.",
        {
            "set": preemption.preemption_set,
            "show": preemption.preemption_show,
            "fit": preemption_fit,
        },
    ),
    "code": Group(
        "Whether jobs and endpoints run your own code.",
        {"on": code.on, "off": code.off, "show": code.show},
    ),
    "capacity": Group(
        "How many nodes a region has.",
        {"set": preemption.capacity_set, "show": preemption.capacity_show},
    ),
    "fault": Group(
        "Faults: calls that fail, are throttled, take long or lose their response.",
        {"add": faults.add, "list": faults.list_, "clear": faults.clear},
    ),
}
COMMANDS = {"local": Group("The simulated cloud: its clock, quotas and faults.", _LOCAL)}
