"""Laws of saved plans, over any work at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import planfile, pointer
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.registry import ALL
from mlctl.planning.model import Plan
from mlctl.planning.steps.work import PlanStep, Secret, StepRole, Work
from mlctl.pointer import Data

WIRE = ("properties", "properties", "userAccountCredentials", "adminUserPassword")
AT = ("ssh_settings", "admin_password")
SECRET = "Correct-Horse-Battery-1"

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,8}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXT
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
SCOPES = st.builds(Scope, NAMES, NAMES, NAMES)


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    kind = draw(st.sampled_from(list(ALL)))
    parent, versioned = ALL[kind].parent, ALL[kind].versioned
    return Address(
        kind,
        draw(NAMES),
        draw(NAMES) if parent else None,
        draw(st.from_regex(r"[0-9a-f]{1,5}", fullmatch=True)) if versioned else None,
    )


@st.composite
def steps(draw: st.DrawFn, number: int) -> PlanStep:
    """One step; a cluster may carry a secret."""
    target = draw(addresses())
    body: dict[str, Data] = {"properties": draw(st.dictionaries(NAMES, DATA, max_size=3))}
    secrets: tuple[Secret, ...] = ()
    if target.kind == "compute" and draw(st.booleans()):
        pointer.put(body, WIRE, SECRET)
        secrets = (Secret(WIRE, f"{target.name}.yml", draw(st.integers(0, 3)), AT),)
    role = draw(st.sampled_from(StepRole))
    needs: tuple[int, ...] = ()
    if number:  # the first one waits for none
        needs = tuple(draw(st.sets(st.integers(0, number - 1), max_size=2)))
    return PlanStep(number, target, role, target, body, needs, secrets, draw(st.booleans()))


@st.composite
def works(draw: st.DrawFn) -> Work:
    made = tuple(draw(steps(number)) for number in range(draw(st.integers(0, 4))))
    read = draw(st.dictionaries(addresses(), st.none() | TEXT, max_size=3))
    return Work(draw(NAMES), draw(SCOPES), made, read)


def as_data(work: Work) -> dict[str, Any]:
    steps = [{name: getattr(one, name) for name in PlanStep.__slots__} for one in work.steps]
    return {"backend": work.backend, "scope": work.scope, "read": work.read, "steps": steps}


def found_again(work: Work) -> tuple[Work, str]:
    """The work out of a file, and the text of the file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        planfile.save(Plan(work.backend, work.scope, (), {}), work, path)
        return planfile.load(path).work, path.read_text(encoding="utf-8")


def filled(work: Work) -> Work:
    """The work with the secrets from files that give every resource its own."""
    names = {secret.file: one.target.name for one in work.steps for secret in one.secrets}

    def read(file: str, _index: int) -> Mapping[str, Data]:
        return {"name": names[file], "ssh_settings": {"admin_password": SECRET}}

    return planfile.fill_secrets(work, read)


@given(works())
def test_work_comes_back_whole_with_the_users_secrets(work: Work) -> None:
    assert as_data(filled(found_again(work)[0])) == as_data(work)


@pytest.mark.slow
@given(works())
def test_no_secret_is_ever_in_the_file(work: Work) -> None:
    again, text = found_again(work)
    assert SECRET not in text
    assert SECRET not in json.dumps([one.body for one in again.steps])


@given(works())
def test_saving_leaves_the_work_as_it_is(work: Work) -> None:
    before = json.dumps([one.body for one in work.steps])
    found_again(work)
    assert json.dumps([one.body for one in work.steps]) == before
