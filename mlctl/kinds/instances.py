"""Values of compute instances, YAML and wire: schedules, setup scripts, applications.

Origin of the shapes: azure-ai-ml 1.35.2 (`entities/_compute`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.pointer import Data

Spell: TypeAlias = Callable[[Data, Field, Scope], Data]
_SCRIPTS = {"startup_script": "startupScript", "creation_script": "creationScript"}
_TRIGGER = {"start_time": "startTime", "time_zone": "timeZone"}
_PATTERN = {"hours": "hours", "minutes": "minutes", "week_days": "weekDays"}


def _decode_minutes(value: Data, _field: Field, _scope: Scope) -> Data:
    match = re.fullmatch(r"PT(\d+)M", str(value))
    return int(match[1]) if match else value


def _each(spelt: Callable[[Mapping[str, Data]], Data]) -> Spell:
    """Encode the items of a list."""
    return lambda value, *_: list(map(spelt, value)) if isinstance(value, list) else value


def _some(spelt: Callable[[Mapping[str, Data]], Data]) -> Spell:
    """Decode the items of a list; None if there are none."""
    return lambda value, *_: list(map(spelt, value)) or None if isinstance(value, list) else None


def _encode_schedule(item: Mapping[str, Data]) -> Data:
    trigger = item.get("trigger") or {}
    kind = str(trigger.get("type", "cron")).capitalize()
    moments = {wire: trigger[ours] for ours, wire in _TRIGGER.items() if trigger.get(ours)}
    moments.setdefault("timeZone", "UTC")
    if kind == "Cron":
        moments["expression"] = trigger.get("expression")
    else:
        moments["frequency"] = str(trigger.get("frequency")).capitalize()
        moments["interval"] = trigger.get("interval")
        pattern = trigger.get("schedule") or {}
        times = {wire: pattern[ours] for ours, wire in _PATTERN.items() if ours in pattern}
        if "weekDays" in times:
            times["weekDays"] = [str(day).capitalize() for day in times["weekDays"]]
        if times:
            moments["schedule"] = times
    return {
        "action": str(item.get("action")).capitalize(),
        "status": str(item.get("state", "enabled")).capitalize(),
        "triggerType": kind,
        kind.lower(): moments,
    }


def _read_schedule(item: Mapping[str, Data]) -> Data:
    kind = str(item.get("triggerType", "Cron")).lower()
    moments = item.get(kind) or {}
    trigger: dict[str, Data] = {"type": kind}
    trigger |= {ours: moments[wire] for ours, wire in _TRIGGER.items() if moments.get(wire)}
    if kind == "cron":
        trigger["expression"] = moments.get("expression")
    else:
        trigger["frequency"] = str(moments.get("frequency")).lower()
        trigger["interval"] = moments.get("interval")
        pattern = moments.get("schedule") or {}
        times = {ours: pattern[wire] for ours, wire in _PATTERN.items() if pattern.get(wire)}
        if "week_days" in times:
            times["week_days"] = [str(day).lower() for day in times["week_days"]]
        trigger |= {"schedule": times} if times else {}
    service_fields = {
        "schedule_id": item.get("id"),
        "provisioning_state": item.get("provisioningStatus"),
    }
    return {
        "action": str(item.get("action")).lower(),
        "state": str(item.get("status", "Enabled")).lower(),
        **{name: text for name, text in service_fields.items() if text is not None},
        "trigger": trigger,
    }


def _encode_scripts(value: Data, _field: Field, _scope: Scope) -> Data:
    if not isinstance(value, Mapping):
        return value
    scripts = {
        wire: {
            "scriptSource": "workspaceStorage",
            "scriptData": value[ours].get("path"),
            "scriptArguments": value[ours].get("command"),
            "timeout": f"{value[ours].get('timeout_minutes', 15)}m",
        }
        for ours, wire in _SCRIPTS.items()
        if isinstance(value.get(ours), Mapping)
    }
    return {"scripts": scripts}


def _decode_scripts(value: Data, _field: Field, _scope: Scope) -> Data:
    scripts = (value.get("scripts") or {}) if isinstance(value, Mapping) else {}
    declared: dict[str, Data] = {}
    for ours, wire in _SCRIPTS.items():
        script = scripts.get(wire)
        if isinstance(script, Mapping):
            minutes = int(str(script.get("timeout") or "15m")[:-1] or 15)
            texts = {"path": script.get("scriptData"), "command": script.get("scriptArguments")}
            texts = {key: text for key, text in texts.items() if text is not None}
            declared[ours] = {**texts, "timeout_minutes": minutes}
    return declared or None


def _encode_application(item: Mapping[str, Data]) -> Data:
    variables = item.get("environment_variables") or {}
    return {
        "name": item.get("name"),
        "image": {"type": "docker", "reference": (item.get("image") or {}).get("reference")},
        "endpoints": [
            {**port, "protocol": "http", "name": "connect"} for port in item.get("endpoints") or []
        ],
        "environmentVariables": {
            key: {"type": "local", "value": text} for key, text in variables.items()
        },
        "volumes": [
            {**mount, "type": "bind", "readOnly": False} for mount in item.get("bind_mounts") or []
        ],
        "docker": {"privileged": True},
    }


def _read_application(item: Mapping[str, Data]) -> Data:
    ports = [
        {key: port.get(key) for key in ("target", "published")}
        for port in item.get("endpoints") or []
    ]
    mounts = [
        {key: mount.get(key) for key in ("source", "target")} for mount in item.get("volumes") or []
    ]
    variables = {
        key: variable.get("value")
        for key, variable in (item.get("environmentVariables") or {}).items()
    }
    read = {
        "name": item.get("name"),
        "type": "docker",
        "image": {"reference": (item.get("image") or {}).get("reference")},
        "endpoints": ports,
        "environment_variables": variables,
        "bind_mounts": mounts,
    }
    return {key: part for key, part in read.items() if part}


# The wire and the YAML spelling, by codec name: of minutes (`PT30M`), of the schedules that start
# and stop an instance, of the scripts that set it up, and of its applications, each in a container.
SPELLINGS: Mapping[str, tuple[Spell, Spell]] = {
    "minutes": (
        lambda value, *_: value if isinstance(value, str) else f"PT{value}M",
        _decode_minutes,
    ),
    "start_stop": (_each(_encode_schedule), _some(_read_schedule)),
    "setup_scripts": (_encode_scripts, _decode_scripts),
    "applications": (_each(_encode_application), _some(_read_application)),
}
