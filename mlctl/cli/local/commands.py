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
        "How long nodes take to come and to go.",
        {"set": settings.delays_set, "show": settings.delays_show},
    ),
    "settings": Group(
        "How the cloud behaves, and why.",
        {"set": settings.settings_set, "list": settings.settings_list},
    ),
    "tenancy": Group("The queue that classic jobs share.", {"set": settings.tenancy_set}),
    "workload": Group(
        "How long jobs take.", {"set": settings.workload_set, "list": settings.workload_list}
    ),
    "preemption": Group(
        "What takes low-priority nodes away.",
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
        "Faults: make calls fail, be throttled, take long or lose their answer.",
        {"add": faults.add, "list": faults.list_, "clear": faults.clear},
    ),
}
COMMANDS = {"local": Group("The simulated cloud: its clock, quotas and faults.", _LOCAL)}
