"""Expressions of pipelines: what steps need from their pipeline and from each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.errors import bad

_OF_STEP = re.compile(r"\$\{\{\s*parent\.jobs\.([^.}\s]+)\.outputs\.([^}\s]+)\s*\}\}")
_OF_PIPELINE = re.compile(r"\$\{\{\s*parent\.inputs\.([^}\s]+)\s*\}\}")


def needed_steps(step: str, node: Data, steps: Mapping[str, Data]) -> tuple[str, ...]:
    """Return the steps whose outputs a step needs, in the order of the pipeline.

    Raises:
        ServiceError: it takes an output of a step that there is not.
    """
    needed = {match[1] for text in _texts(node) for match in _OF_STEP.finditer(text)}
    unknown = sorted(needed - {*steps})
    if unknown:
        text = f"The step `{step}` takes an output of `{unknown[0]}`, which is no step."
        raise bad(text, "InvalidPipeline")
    return tuple(name for name in steps if name in needed)


def with_inputs(data: Data, inputs: Mapping[str, str]) -> Data:
    """Replace references to pipeline inputs in the data; unknown ones stay."""
    match data:
        case str():
            return _OF_PIPELINE.sub(lambda match: inputs.get(match[1], match[0]), data)
        case Mapping():
            return {key: with_inputs(value, inputs) for key, value in data.items()}
        case list():
            return [with_inputs(value, inputs) for value in data]
        case _:
            return data


def with_outputs(inputs: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """Replace expressions by the keys of other steps in the inputs of a step."""

    def of_key(match: re.Match[str]) -> str:
        return f"{keys.get(match[1], match[1])}/{match[2]}"

    return {name: _OF_STEP.sub(of_key, text) for name, text in inputs.items()}


def input_texts(values: Mapping[str, Data], declared: Mapping[str, Data]) -> dict[str, str]:
    """Return the values of inputs as texts: given ones, or else declared defaults."""
    texts = {
        name: str(declaration["default"])
        for name, declaration in declared.items()
        if isinstance(declaration, Mapping) and declaration.get("default") is not None
    }
    for name, data in values.items():
        value = data.get("value", data.get("uri")) if isinstance(data, Mapping) else data
        if value is not None:
            texts[name] = str(value)
    return texts


def _texts(data: Data) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for value in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(value)
