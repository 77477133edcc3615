"""The backend before recorded answers: taken, planned, written, listed and polled as recorded."""

from __future__ import annotations

from functools import lru_cache

import pytest

from conformance.expected import Direction, listed
from conformance.verify import Score, Verdict
from mlctl.kinds import KINDS, codec
from tests.builders.azure import SCOPE, azure
from tests.builders.cards import not_met_yet
from tests.builders.met import is_met, said_by, verdict
from tests.builders.plans import planned
from tests.builders.replayed import CARDS, Replayed

pytest.importorskip("azure.identity", reason="the azure extra is not installed")


ENVIRONMENT = next(
    one for one in KINDS["batch-deployment"].forms[-1].fields if one.at == ("environment",)
)


@lru_cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(verdict(card) for card in CARDS.values() if is_met(card))


@pytest.mark.slow
def test_the_backend_takes_what_was_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    score = Score.of(each for each in verdicts() if not not_met_yet(each.card, Direction.BACKEND))
    with capsys.disabled():
        print(f"\nbackend: {score}")
    assert score.status == score.cards
    assert score.deviating == 0
    assert score.whole >= 0.9 * score.cards  # all others deviate as listed


@pytest.mark.slow
def test_what_is_listed_as_deviating_still_deviates() -> None:
    for each in listed(Direction.BACKEND):
        found = [
            one
            for verdict in verdicts()
            for one in verdict.deviations
            if each.covers(verdict.card, one)
        ]
        assert found, f"nothing deviates any more at {each.at}: strike it off"


def test_a_curated_environment_is_sent_by_its_name_and_missed_by_no_plan() -> None:
    card = CARDS["batch-deployment-put-defaults"]
    made = planned(azure(Replayed.of(card.id)).backend, *said_by(card))
    assert made.plan.rejections == ()
    sent = codec.encode("azureml:AzureML-x:1", ENVIRONMENT, SCOPE)
    other = codec.encode("azureml:mine:1", ENVIRONMENT, SCOPE)
    assert (sent, other) == ("azureml:AzureML-x:1", f"{SCOPE.id}/environments/mine/versions/1")


def test_the_stage_of_an_archived_model_is_the_services_own() -> None:
    backend = azure(Replayed.of("model-put-archive")).backend
    (said,) = said_by(CARDS["model-put-archive"])
    assert said.get("stage") == "Development"
    assert planned(backend, said).plan.empty
