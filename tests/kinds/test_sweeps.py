"""What a sweep tries and how, to the wire and back."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.kinds import codec, values
from mlctl.kinds.records.job import KIND as JOB
from mlctl.pointer import Data, Pointer
from tests.builders.workspace import SCOPE

FORM = next(one for one in JOB.forms if one.name == "sweepJob")
SENT = [
    ("search_space", {"a": {"type": "randint", "upper": 5}}, {"a": ["randint", [5]]}),
    (
        "search_space",
        {"a": {"type": "QUniform", "min_value": 0, "max_value": 1, "q": 0.1}},
        {"a": ["quniform", [0, 1, 0.1]]},
    ),
    (
        "search_space",
        {"a": {"type": "choice", "values": ["x", {"b": {"type": "normal", "mu": 0, "sigma": 1}}]}},
        {"a": ["choice", [["x", {"b": ["normal", [0, 1]]}]]]},
    ),
    ("sampling_algorithm", "Grid", {"samplingAlgorithmType": "Grid"}),
    (
        "sampling_algorithm",
        {"type": "random", "rule": "Sobol", "seed": 3},
        {"samplingAlgorithmType": "Random", "rule": "sobol", "seed": 3},
    ),
    (
        "early_termination",
        {"type": "median_stopping"},
        {"policyType": "MedianStopping", "delayEvaluation": 0, "evaluationInterval": 1},
    ),
]


@pytest.mark.parametrize(("name", "said", "sent"), SENT)
def test_a_value_of_a_sweep_is_sent_and_read_back(name: str, said: Any, sent: Any) -> None:
    field = FORM.field((name,))
    assert field
    assert codec.encode(said, field, SCOPE) == sent
    read = codec.decode(sent, field, SCOPE)
    assert codec.encode(read, field, SCOPE) == sent
    assert not codec.differ(said, read, field, SCOPE)


@pytest.mark.parametrize("sent", ["soon", ["gauss", [1]], ["uniform", [1]], [], None])
def test_a_distribution_that_nobody_knows_is_shown_as_it_came(sent: Any) -> None:
    field = FORM.field(("search_space",))
    assert field
    assert codec.decode({"a": sent}, field, SCOPE) == {"a": sent}


def test_the_resources_of_a_trial_are_its_sweeps_unless_that_says_its_own() -> None:
    trial: dict[Pointer, Data] = {("trial", "resources", "shm_size"): "3g"}
    own: dict[Pointer, Data] = {("resources", "instance_count"): 2}
    alone = values.encode(trial, FORM, SCOPE)["properties"]
    both = values.encode({**trial, **own}, FORM, SCOPE)["properties"]
    assert alone["resources"] == alone["trial"]["resources"] == {"shmSize": "3g"}
    assert (both["resources"], both["trial"]["resources"]) == (
        {"instanceCount": 2},
        {"shmSize": "3g"},
    )
