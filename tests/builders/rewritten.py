"""Documents rewritten: to other spellings of the same meaning, or with one meaning changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from hypothesis import strategies as st

from mlctl import pointer, source
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, codec
from mlctl.kinds.field import Absent, Field, Form, Mutability
from mlctl.kinds.values import applies, complete
from mlctl.pointer import Data, Pointer
from tests.builders.generated import Declared, spellings, values
from tests.builders.workspace import SCOPE, cloud

# What the two spellings of a reference that is left open, and of one that is not, have in common.
_OPEN = {"azureml:heart": "model", "azureml:heart@latest": "model"}
_OPEN |= {"azureml:torch": "environment", "azureml:torch@latest": "environment"}
_SNAKE = str.isidentifier  # `low_priority`, and no `AmlCompute`: words whose letter case is free


@st.composite
def respelt(draw: st.DrawFn, world: list[Declared]) -> list[Declared]:
    """The same world in other words: other text, other order, defaults said or left unsaid."""
    return [(kind, draw(_respelt(kind, data))) for kind, data in draw(st.permutations(world))]


@st.composite
def _respelt(draw: st.DrawFn, kind: str, data: dict[str, Data]) -> dict[str, Data]:
    form = KINDS[kind].form_of(data)
    said = form.written(data)
    new: dict[str, Data] = json.loads(json.dumps(data))
    for field in form.fields:
        if field.at in said:
            pointer.put(new, field.at, draw(_other_words(field, said[field.at])))
        if draw(st.booleans()):
            _say_or_leave(new, field, said, form)
    if isinstance(new.get("version"), str | int):
        new["version"] = draw(st.sampled_from([str(new["version"]), int(new["version"])]))
    if form.name == "flat" and draw(st.booleans()):
        new = _nested(new, form)
    return _through_text(draw(_shuffled(new)), draw(st.sampled_from(["block", "flow", "json"])))


def _say_or_leave(
    data: dict[str, Data], field: Field, said: Mapping[Pointer, Data], form: Form
) -> None:
    """A default that is written out is left out, and the other way round."""
    if (
        field.absent is not Absent.DEFAULT
        or not applies(field, said, form)
        or field.at == ("type",)
    ):
        return
    if field.at not in said:
        pointer.put(data, field.at, field.default)
    elif said[field.at] == field.default:
        pointer.drop(data, field.at)


def _other_words(field: Field, value: Data) -> st.SearchStrategy[Data]:
    """Values that mean the same."""
    words: list[Data] = [value]
    match field.codec, value:
        case "enum", str() if _SNAKE(value.replace(",", "_")) and value.islower():
            words += [value.upper(), value.title()]
        case "folded", str():
            words += [value.upper(), value.lower()]
        case "region", "westus2":
            words += ["West US 2", "WESTUS2"]
        case "map", dict():
            words.append(codec.encode(value, field, SCOPE))  # `1` and `"1"` are one text there
        case "identities", list():
            shouted = [{"resource_id": one["resource_id"].replace("uai", "UAI")} for one in value]
            words += [value[::-1], shouted]
        case "subnet", dict() if "vnet_name" in value:
            wire = codec.encode(value, field, SCOPE)["id"]
            words += [{"subnet": wire}, {"subnet": wire.upper()}]
        case (("reference" | "asset"), str()):
            words += _names(field, value)
        case _:
            pass
    return st.sampled_from(words)


def _names(field: Field, value: str) -> list[str]:
    if value in _OPEN:
        return [one for one, kind in _OPEN.items() if kind == _OPEN[value]]
    for kind, name, version in (
        ("compute", "cpu-a", None),
        ("compute", "cpu-b", None),
        ("model", "heart", "1"),
        ("environment", "torch", "1"),
    ):
        known = spellings(kind, name, version)
        if kind == field.refers_to and value in known:
            return known
    return [value]


@st.composite
def _shuffled(draw: st.DrawFn, data: Data) -> Data:
    if isinstance(data, list):
        return [draw(_shuffled(one)) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: draw(_shuffled(data[key])) for key in draw(st.permutations(list(data)))}


def _nested(data: dict[str, Data], flat: Form) -> dict[str, Data]:
    """The flat form of a deployment in the form that has `settings`."""
    model = next(form for form in KINDS["batch-deployment"].forms if form.name == "model")
    settings = {one.at[1] for one in model.fields if one.at[0] == "settings"}
    inner = {key: data[key] for key in data if key in settings}
    outer = {key: data[key] for key in data if key not in settings}
    return {**outer, "type": "model", "settings": inner}


def _through_text(data: dict[str, Data], style: str) -> dict[str, Data]:
    """What is read back when the document is written as YAML in some style."""
    if style == "json":
        text = json.dumps(data, ensure_ascii=False)
    else:
        text = yaml.safe_dump(data, default_flow_style=style == "flow", sort_keys=False)
    (document,) = source.load("main.yml", text, Report())
    return document.data


@dataclass(frozen=True)
class Changed:
    """A world before and after one field of one document got another meaning."""

    before: list[Declared]
    after: list[Declared]
    kind: str
    name: str
    field: Field

    @property
    def versioned(self) -> bool:
        """Whether the document is about one of many versions."""
        return KINDS[self.kind].versioned


@st.composite
def changed(draw: st.DrawFn, world: list[Declared]) -> Changed:
    """The world, and the same with one field of one document changed in meaning."""
    at = draw(st.integers(0, len(world) - 1))
    kind, data = world[at]
    form = KINDS[kind].form_of(data)
    had = complete(form.written(data), form)
    field = draw(st.sampled_from([one for one in form.fields if _may_change(one, data, had)]))
    value = draw(values(field).filter(lambda one: _differs(field, had, one)))
    new: dict[str, Data] = json.loads(json.dumps(data))
    pointer.put(new, field.at, value)
    if field.at[-1] == "output_action":  # a summary has no file
        for one in (data, new):
            pointer.drop(one, (*field.at[:-1], "output_file_name"))
    after = [*world[:at], (kind, new), *world[at + 1 :]]
    return Changed(world, after, kind, data["name"], field)


# Neighbours of these must change with them, or what they name must be there.
_TOGETHER = {"defaults", "component", "build", "properties"}
_IF_THERE = {"ssh_settings", "identity", "code_configuration", "inference_config", "image"}
_IF_THERE |= {"conda_file"}
_IF_THERE |= {"ssh_public_access_enabled", "is_archived"}  # silence is the service's to fill


def _may_change(field: Field, data: dict[str, Data], had: Mapping[Pointer, Data]) -> bool:
    first, last = field.at[0], field.at[-1]
    if first == "stage" and data.get("is_archived"):
        return False  # an archived model has no stage
    if field.mutability is Mutability.READ_ONLY or not field.compared or first in _TOGETHER:
        return False
    if last in ("type", "code") and field.codec != "plain" and "path" not in data:
        return False
    if last == "output_file_name":
        return ((*field.at[:-1], "output_action"), "summary_only") not in had.items()
    return first not in _IF_THERE or pointer.get(data, field.at) is not None


def _differs(field: Field, had: Mapping[Pointer, Data], after: Data) -> bool:
    before = had.get(field.at, cloud().location if field.at == ("location",) else None)
    if isinstance(after, dict) and field.refers_to:
        return False  # an inline asset is another resource
    if field.at == ("min_instances",) and after > had["max_instances",]:
        return False
    if field.at == ("max_instances",) and after < had["min_instances",]:
        return False
    if before is None:
        return not codec.says_nothing(after, field)
    one, other = (codec.canonical(_pinned(value), field, SCOPE) for value in (before, after))
    return bool(one != other)


def _pinned(value: Data) -> Data:
    """A reference that is left open means version 1, the only one that there is."""
    if isinstance(value, str) and value in _OPEN:
        return f"{value.partition('@')[0]}:1"
    return value
