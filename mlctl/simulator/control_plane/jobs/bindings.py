"""Expressions of pipelines: what steps take from their pipeline and from each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.errors import bad

_OF_STEP = re.compile(r"\$\{\{\s*parent\.jobs\.([^.}\s]+)\.outputs\.([^}\s]+)\s*\}\}")
_OF_PIPELINE = re.compile(r"\$\{\{\s*parent\.inputs\.([^}\s]+)\s*\}\}")


def needed_steps(step: str, node: Data, steps: Mapping[str, Data]) -> tuple[str, ...]:
    """The steps whose outputs a step takes, in the order in which the pipeline declares them.

    Raises:
        ServiceError: it takes an output of a step that there is not.
    """
    found = {match[1] for text in _texts(node) for match in _OF_STEP.finditer(text)}
    unknown = sorted(found - {*steps})
    if unknown:
        text = f"The step `{step}` takes an output of `{unknown[0]}`, which is no step."
        raise bad(text, "InvalidPipeline")
    return tuple(name for name in steps if name in found)


def with_inputs(data: Data, inputs: Mapping[str, str]) -> Data:
    """The data with inputs of the pipeline put in place; those that there are not stay."""
    match data:
        case str():
            return _OF_PIPELINE.sub(lambda match: inputs.get(match[1], match[0]), data)
        case Mapping():
            return {key: with_inputs(held, inputs) for key, held in data.items()}
        case list():
            return [with_inputs(held, inputs) for held in data]
        case _:
            return data


def with_outputs(inputs: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """The inputs of a step with the keys of other steps in place of those."""

    def of_key(match: re.Match[str]) -> str:
        return f"{keys.get(match[1], match[1])}/{match[2]}"

    return {name: _OF_STEP.sub(of_key, text) for name, text in inputs.items()}


def input_texts(given: Mapping[str, Data], declared: Mapping[str, Data]) -> dict[str, str]:
    """The values of inputs as texts: what is given, or else the defaults of the declarations."""
    found = {
        name: str(one["default"])
        for name, one in declared.items()
        if isinstance(one, Mapping) and one.get("default") is not None
    }
    for name, one in given.items():
        value = one.get("value", one.get("uri")) if isinstance(one, Mapping) else one
        if value is not None:
            found[name] = str(value)
    return found


def _texts(data: Data) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for held in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(held)
