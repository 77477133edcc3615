"""`wait`: what is not waited for by --no-wait is waited for later, by az's conditions."""

from __future__ import annotations

import pytest

from tests.builders.shell import Run

CREATE = ("compute", "create", "-n", "later", "-t", "amlcompute", "--size", "Standard_D2s_v3")
STATE = ("compute", "show", "-n", "later", "--query", "provisioning_state", "-o", "tsv")
WAIT = ("compute", "wait", "-n", "later")


def test_what_was_not_waited_for_is_waited_for_later(mlctl: Run) -> None:
    assert mlctl(*CREATE, "--no-wait").code == 0
    shown = mlctl(*STATE)
    assert (shown.out, "mlctl compute wait -n later --updated" in shown.err) == ("Creating\n", True)
    assert mlctl(*WAIT, "--exists").code == 0
    assert mlctl(*STATE).out == "Creating\n"
    assert mlctl(*WAIT, "--created").code == 0
    assert mlctl(*STATE).out == "Succeeded\n"


def test_it_waits_until_a_resource_is_gone(mlctl: Run) -> None:
    mlctl(*CREATE)
    mlctl("compute", "delete", "-n", "later", "--yes", "--no-wait")
    assert mlctl(*STATE).out == "Deleting\n"
    assert mlctl(*WAIT, "--deleted").code == 0
    assert mlctl(*STATE).code == 3


def test_it_waits_for_what_a_query_finds(mlctl: Run) -> None:
    mlctl(*CREATE, "--no-wait")
    assert mlctl(*WAIT, "--custom", "provisioning_state=='Succeeded'").code == 0
    assert mlctl(*STATE).out == "Succeeded\n"


@pytest.mark.parametrize("condition", ["--updated", "--custom=name"])
def test_what_is_not_there_is_waited_for_only_where_it_may_come(mlctl: Run, condition: str) -> None:
    done = mlctl(*WAIT, condition, "--timeout", "60")
    assert done.code == (3 if condition == "--updated" else 1)


def test_the_time_to_wait_has_an_end(mlctl: Run) -> None:
    mlctl(*CREATE)
    done = mlctl(*WAIT, "--deleted", "--timeout", "90", "--interval", "30")
    assert (done.code, "was waited for 90 seconds" in done.err) == (1, True)


def test_a_resource_whose_write_failed_is_waited_for_no_longer(mlctl: Run) -> None:
    mlctl("local", "fault", "add", "fail-operation", "--operation", "put")
    mlctl(*CREATE, "--no-wait")
    done = mlctl(*WAIT, "--created")
    assert (done.code, "the last operation on compute/later failed" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ((), "--created | --updated | --deleted | --exists | --custom"),
        (("--exists", "--interval", "0"), "--interval takes at least 1 second"),
        (("--custom", "foo["), "Invalid value for --custom"),
    ],
)
def test_a_wait_that_makes_no_sense_is_a_usage_error(
    mlctl: Run, line: tuple[str, ...], said: str
) -> None:
    done = mlctl(*WAIT, *line)
    assert (done.code, said in done.err) == (2, True)
