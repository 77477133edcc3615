"""The actions of the studio's forms on the simulated cloud; on Azure none is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlctl.backends.local.backend import LocalBackend
from mlctl.dataclasses import replace
from mlctl.durations import elapsed, parse
from mlctl.forecast.weather import models as weather
from mlctl.kinds import Address
from mlctl.schema.text import counted
from mlctl.service_errors import BAD_REQUEST, NotFound, Permanent
from mlctl.simulator.control_plane import control, disruptions, faults, replay
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.processes import Constant
from mlctl.studio.watch import SPEEDS, Watch

Fields = Mapping[str, str]
_ENUMS = {
    "trouble": faults.FaultKind,
    "http_trouble": faults.HttpFaultKind,
    "retry_after": faults.RetryAfter,
    "style": faults.OperationStyle,
}
# The fields and choices of the fault forms.
CHOICES: Mapping[str, tuple[str, ...]] = {
    **{key: tuple(each.value for each in kinds) for key, kinds in _ENUMS.items()},
    "operation": (faults.ANY, *faults.VERBS),
    "method": ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"),
}


def carry_out(watch: Watch, name: str, fields: Fields) -> str:
    """Carry out an action; describe what was done.

    Raises:
        ServiceError: there is no such action, it is refused, or the workspace is a real one.
    """
    if name == "play":
        return _play(watch, fields)
    action = _ACTIONS.get(name)
    if action is None:
        raise NotFound("NoAction", "There is no such action.", status=404)
    return watch.act(lambda cloud: action(cloud, fields))


def _play(watch: Watch, fields: Fields) -> str:
    speed = fields.get("speed", "0")
    if watch.cloud and speed not in ("0", *map(str, SPEEDS)):
        raise Permanent("BadSpeed", f"`{speed}` is not a valid speed.", status=BAD_REQUEST)
    watch.speed = int(speed)
    watch.revision += 1
    return f"Playing at {speed}x" if watch.speed else "Paused"


def _step(cloud: LocalBackend, fields: Fields) -> str:
    """Advance to the next event, or by a duration."""
    if fields.get("time"):
        try:
            seconds = parse(fields["time"])
        except ValueError:
            raise _bad(f"`{fields['time']}` is not a duration: write 90s, 15m or 1h") from None
    else:
        with replay.current(cloud.handle.store) as world:
            ahead, now = engine.next_event_time(world), world.now
        if ahead is None:
            return "No events are scheduled"
        seconds = max(ahead - now, 0.0)
    control.wait(cloud.handle, seconds)
    return f"Advanced by {elapsed(seconds)}"


def _weather(cloud: LocalBackend, fields: Fields) -> str:
    name = fields.get("weather", "")
    if name == "none":
        disruptions.set_preemption(cloud.handle, ())
        return "Preemption is off"
    try:
        model = weather.by_name(name)
    except weather.WeatherError as error:
        raise _bad(str(error)) from None
    if model is None or model.trace is not None:
        raise _bad(f"unknown weather `{name}`")
    disruptions.set_preemption(cloud.handle, replace(model, available=True).processes())
    return f"Weather set to {name}"


def _preempt(cloud: LocalBackend, fields: Fields) -> str:
    text = fields.get("nodes", "1")
    if text != "all" and not (text.isdecimal() and 0 < int(text) < 10**6):
        raise _bad(f"`{text}` is not a number of nodes")
    count = None if text == "all" else int(text)
    lost = disruptions.preempt(cloud.handle, Address("compute", fields.get("cluster", "")), count)
    return f"{counted(lost, 'node')} preempted"


def _capacity(cloud: LocalBackend, fields: Fields) -> str:
    text = fields.get("nodes", "").strip()
    if text and not text.isdecimal():
        raise _bad(f"`{text}` is not a number of nodes")
    disruptions.set_capacity(cloud.handle, Constant(int(text)) if text else None, None)
    return f"Capacity set to {text} nodes" if text else "Capacity is unlimited"


def _fault(cloud: LocalBackend, fields: Fields) -> str:
    """Set a fault of the cloud or of the wire; empty fields keep their defaults."""
    try:
        fault = faults.from_json({key: _typed(key, text) for key, text in fields.items() if text})
    except ValueError as error:
        raise _bad(str(error)) from None
    return f"Fault {control.add_fault(cloud.handle, fault)} is set"


def _typed(key: str, text: str) -> str | float:
    try:
        return _FAULT_NUMBERS.get(key, str)(text)
    except ValueError:
        raise ValueError(f"`{key}` must be a number, not `{text[:40]}`") from None


_FAULT_NUMBERS: Mapping[str, Callable[[str], str | float]] = {
    **dict.fromkeys(("nth", "times", "status", "bytes"), int),
    "every": bool,  # a checked box
    "seconds": float,
}


def _clear(cloud: LocalBackend, fields: Fields) -> str:
    number = fields.get("number", "")
    count = control.clear_faults(cloud.handle, [int(number)] if number.isdecimal() else [])
    return f"{counted(count, 'fault')} cleared"


def _lock(cloud: LocalBackend, fields: Fields) -> str:
    address = Address("compute", fields.get("cluster", ""))
    locked = fields.get("locked") == "true"
    disruptions.lock(cloud.handle, [address], locked=locked)
    return f"Cluster {address.name} is {'locked' if locked else 'unlocked'}"


def _cancel(cloud: LocalBackend, fields: Fields) -> str:
    job = cloud.jobs.cancel(fields.get("job", ""))
    return f"Job {job.name}: {job.status}"


def _bad(message: str) -> Permanent:
    return Permanent("BadArgument", message, status=BAD_REQUEST)


_ACTIONS: Mapping[str, Callable[[LocalBackend, Fields], str]] = {
    "step": _step,
    "weather": _weather,
    "preempt": _preempt,
    "capacity": _capacity,
    "fault": _fault,
    "clear": _clear,
    "lock": _lock,
    "cancel": _cancel,
}
