"""The commands of `mlctl local`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl.cli.local import cloud, preemption, settings
from mlctl.cli.local.cloud import open_cloud
from mlctl.cli.local.preemption import preemption_fit
from mlctl.cli.shell import Group, InvalidValue, Session, argument, flag
from mlctl.cli.shell.code import CodeArgs, key, python_of, read, write
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.kinds import Address, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

_MARK: dict[str, Data] = {"mlctl.supposed": "true"}
_VERSION = "1"  # the version if none is named


@cache
def _supposed(group: str) -> Mapping[str, dict[str, Data]]:
    """Return the plain resources of a group by kind: `assets`, or `others`."""
    text = Path(__file__).with_name("suppose.toml").read_text(encoding="utf-8")
    bodies: Mapping[str, dict[str, Data]] = tomllib.loads(text)[group]
    return bodies


def suppose(session: Session, addresses: list[str] = argument(metavar="ADDRESS...")) -> None:
    """Create stand-ins for resources of a real workspace, so that files can be planned."""
    parsed = [_address(text) for text in addresses]
    with open_cloud(session) as local:
        existing = local.read(parsed)
        for address in parsed:
            if address in existing:
                session.note(f"{address} already exists")
                continue
            local.put(address, _body(address, local.location)).wait()
            session.note(f"{address} is supposed")


def _address(text: str) -> Address:
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise InvalidValue(f"argument ADDRESS: {error}") from None
    assets, others = _supposed("assets"), _supposed("others")
    if address.kind in assets:
        return address.at(address.version or _VERSION)
    if address.kind not in others:
        kinds = ", ".join(sorted((*assets, *others)))
        raise InvalidValue(f"argument ADDRESS: only these can be supposed: {kinds}")
    return address


def _body(address: Address, region: str) -> dict[str, Data]:
    body = _supposed("others").get(address.kind)
    if body is not None and kind_of(address).arm.tracked:
        return {"location": region, "tags": _MARK, **body}
    properties = _supposed("assets")[address.kind] if body is None else body["properties"]
    if "componentSpec" in properties:
        names: dict[str, Data] = {"name": address.name, "version": address.version}
        properties = {"componentSpec": {**properties["componentSpec"], **names}}
    return {"properties": {**properties, "tags": _MARK}}


def on(session: Session, python: str | None = flag(metavar="EXE")) -> None:
    """Run the code of jobs and of invoked deployments, as `--run-code` does for one command."""
    interpreter = python_of(session, CodeArgs(run_code=True, python=python))
    _write(session, interpreter if python is not None else "")


def off(session: Session) -> None:
    """Do not run code: endpoints answer with an echo, and jobs produce placeholder files."""
    _write(session, None)


def show(session: Session, output: Output = "json", query: Query = None) -> None:
    """Show whether this state file runs code, and with which Python."""
    state = key(session.environment)
    python = read(session.environment).get(state)
    data = {"state": state, "run_code": python is not None, "python": python or None}
    print_data(session, data, output, query)


def _write(session: Session, python: str | None) -> None:
    if session.backend_name != "local":
        raise InvalidValue("only the simulated cloud runs code: use `--backend local`")
    try:
        write(session.environment, key(session.environment), python)
    except OSError as error:
        text = f"cannot write the setting to `{error.filename}`: {error.strerror}"
        raise Permanent("CannotWrite", text) from None


_LOCAL: Commands = {
    "status": cloud.status,
    "advance": cloud.advance,
    "reset": cloud.reset,
    "preempt": preemption.preempt,
    "suppose": suppose,
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
        "Whether jobs and endpoints run your own code.", {"on": on, "off": off, "show": show}
    ),
    "capacity": Group(
        "How many nodes a region has.",
        {"set": preemption.capacity_set, "show": preemption.capacity_show},
    ),
    "fault": Group(
        "Faults: calls that fail, are throttled, take long or lose their response.",
        {"add": settings.fault_add, "list": settings.fault_list, "clear": settings.fault_clear},
    ),
}
COMMANDS = {"local": Group("The simulated cloud: its clock, quotas and faults.", _LOCAL)}
