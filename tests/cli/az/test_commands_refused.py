"""What of az is refused: with a reason, and the nearest thing that works."""

from __future__ import annotations

import pytest

from mlctl.cli.az.stand_in import run
from mlctl.cli.shell import UsageError
from tests.builders.shell import Run


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "online-endpoint create --local -n e",
            "without the flag, the local backend has one at once",
        ),
        (
            "online-deployment create --local -n d",
            "without the flag, the local backend has one at once",
        ),
        (
            "online-endpoint invoke --local -n e",
            "without the flag, the local backend has one at once",
        ),
        ("model package -n m -v 1", "with the model and an `environment` needs none"),
        ("compute attach -n c", "`az ml compute attach` or Terraform"),
        ("online-deployment create --model azureml:m:1", "--set model=VALUE"),
        ("batch-deployment create --mini-batch-size 9", "--set mini_batch_size=VALUE"),
        ("batch-deployment create --instance-count 2", "--set resources.instance_count=VALUE"),
        ("model create -n m --path none", "it is relative to the working directory"),
    ],
)
def test_a_line_is_refused_with_what_works(mlctl: Run, line: str, why: str) -> None:
    done = mlctl(*line.split())
    assert (done.code in (1, 2), why in done.err) == (True, True), done.err


@pytest.mark.parametrize("group", ["feature-store", "feature-set", "feature-store-entity"])
def test_the_shim_tells_what_stands_for_a_feature_store(
    monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setenv("MLCTL_BACKEND", "local")
    with pytest.raises(UsageError, match="`data create` stores a table"):
        run(["ml", group, "create", "-n", "x"], lambda _line: 0)
