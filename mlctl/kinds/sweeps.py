"""The two spellings of a sweep's search space, sampling and policy (azure-ai-ml 1.35.2).

YAML has each distribution, algorithm and policy as a mapping with its `type`; the wire has a
distribution as `["uniform", [0, 1]]`, and the others with differently named types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.pointer import Data

POLICIES = {
    "bandit": "Bandit",
    "median_stopping": "MedianStopping",
    "truncation_selection": "TruncationSelection",
}
DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "choice": ("values",),
    "uniform": ("min_value", "max_value"),
    "loguniform": ("min_value", "max_value"),
    "quniform": ("min_value", "max_value", "q"),
    "qloguniform": ("min_value", "max_value", "q"),
    "normal": ("mu", "sigma"),
    "lognormal": ("mu", "sigma"),
    "qnormal": ("mu", "sigma", "q"),
    "qlognormal": ("mu", "sigma", "q"),
    "randint": ("upper",),
}
_POLICY = {
    "delay_evaluation": "delayEvaluation",
    "evaluation_interval": "evaluationInterval",
    "slack_factor": "slackFactor",
    "slack_amount": "slackAmount",
    "truncation_percentage": "truncationPercentage",
}
# The values that the SDK sends if a policy does not set them.
_UNSAID: Mapping[str, Mapping[str, Data]] = {
    "bandit": {"evaluation_interval": 0, "slack_factor": 0, "slack_amount": 0},
    "median_stopping": {"evaluation_interval": 1},
    "truncation_selection": {"evaluation_interval": 0, "truncation_percentage": 0},
}
_OF_RANDOM = ("rule", "seed", "logbase")  # other algorithms have no parameters


def encode_space(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode the search space: `{"lr": ["uniform", [0.1, 1]]}`."""
    return _map_each(value, _encode_distribution)


def decode_space(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode the search space."""
    return _map_each(value, _decode_distribution)


def encode_sampling(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode the sampling algorithm: a word, or a mapping with its type, becomes an object."""
    declared = value if isinstance(value, Mapping) else {"type": value}
    kind = str(declared.get("type")).casefold()
    sent: dict[str, Data] = {"samplingAlgorithmType": kind.capitalize()}
    for key in _OF_RANDOM if kind == "random" else ():
        if declared.get(key) is not None:
            sent[key] = str(declared[key]).casefold() if key == "rule" else declared[key]
    return sent


def decode_sampling(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode the sampling algorithm to a mapping with its type."""
    if not isinstance(value, Mapping):
        return value
    kind = str(value.get("samplingAlgorithmType")).casefold()
    settings = {key: value[key] for key in _OF_RANDOM if value.get(key) is not None}
    if "rule" in settings:
        settings["rule"] = str(settings["rule"]).casefold()
    return {"type": kind, **settings}


def encode_policy(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode the early-termination policy with all numbers, as the SDK completes them."""
    if not isinstance(value, Mapping):
        return value
    kind = str(value.get("type")).casefold()
    declared = {"delay_evaluation": 0, **_UNSAID.get(kind, {}), **value}
    sent = {wire: declared[key] for key, wire in _POLICY.items() if declared.get(key) is not None}
    return {**sent, "policyType": POLICIES.get(kind, kind)}


def decode_policy(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode the early-termination policy to a mapping with its type."""
    if not isinstance(value, Mapping):
        return value
    words = {wire: word for word, wire in POLICIES.items()}
    type_name = value.get("policyType")
    settings = {key: value[wire] for key, wire in _POLICY.items() if value.get(wire) is not None}
    return {"type": words.get(str(type_name), type_name), **settings}


def _map_each(value: Data, spelt: Callable[[Data], Data]) -> Data:
    return {key: spelt(part) for key, part in value.items()} if isinstance(value, dict) else value


def _encode_distribution(value: Data) -> Data:
    """Encode a distribution; the values of a choice may be mappings with distributions."""
    kind = str(value.get("type")).casefold() if isinstance(value, Mapping) else ""
    if kind not in DISTRIBUTIONS:
        return value
    arguments = [value.get(key) for key in DISTRIBUTIONS[kind]]
    return [kind, [_map_choices(argument, _encode_distribution) for argument in arguments]]


def _decode_distribution(value: Data) -> Data:
    """Decode a distribution, if it has the number of arguments of its type."""
    match value:
        case [str(kind), [*arguments]] if kind.casefold() in DISTRIBUTIONS:
            keys = DISTRIBUTIONS[kind.casefold()]
            if len(keys) == len(arguments):
                decoded = (_map_choices(argument, _decode_distribution) for argument in arguments)
                return {"type": kind.casefold(), **dict(zip(keys, decoded, strict=True))}
    return value


def _map_choices(value: Data, spelt: Callable[[Data], Data]) -> Data:
    return [_map_each(choice, spelt) for choice in value] if isinstance(value, list) else value
