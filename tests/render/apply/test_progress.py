"""An apply as it goes, and how it ended."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from mlctl.applying.events import NotEffective, Stale, StepEvent, StepState
from mlctl.applying.outcome import Outcome, collect
from mlctl.kinds.address import Address
from mlctl.planning.model import Action, FieldChange
from mlctl.planning.steps.work import PlanStep, StepRole
from mlctl.render.apply import json_lines, outcome, progress, step_text
from mlctl.render.apply.outcome import summary
from mlctl.service_errors import Permanent, ServiceError, Transient
from tests.builders.plans import Planned, plan, succeeded, workspace
from tests.builders.resources import CLUSTER, ENDPOINT

CPU = "compute/cpu-cluster"
FIRST = "batch-deployment/scores/first"
MODEL = "$schema: https://x/model.schema.json\nname: heart\nversion: 1\npath: azureml://x/y\n"
DEPLOYMENT = (
    "$schema: https://x/batchDeployment.schema.json\nname: first\nendpoint_name: scores\n"
    "model: azureml:heart:1\ncompute: azureml:cpu-cluster\n"
)
BATCH = (CLUSTER, MODEL, ENDPOINT + "defaults: {deployment_name: first}\n", DEPLOYMENT)
SMALL = CLUSTER + "size: Standard_DS2_v2\n"
QUOTA = Permanent("ClusterCoreQuotaReached", "no cores left", details=("ask",), request_id="r-1")
BUSY = Transient("TooManyRequests", "slow down", retry_after=2)


def actions(planned: Planned) -> dict[Address, Action]:
    return {change.address: change.action for change in planned.plan.changes}


def ended(planned: Planned, events: Iterable[StepEvent]) -> Outcome:
    return collect(events, planned.work, actions(planned), lambda _: None)


def told(planned: Planned, events: Iterable[StepEvent]) -> list[str]:
    """The lines of the events."""
    stream = io.StringIO()
    progress.show(events, planned.work, actions(planned), stream)
    return stream.getvalue().splitlines()


def messages(planned: Planned, events: Iterable[StepEvent]) -> list[dict[str, Any]]:
    """The JSON lines of the events, by clocks that stand on each look a second later."""
    lines: list[str] = []
    stream = json_lines.MessageStream(
        lines.append, lambda: "2026-11-20T00:00:00Z", count().__next__
    )
    json_lines.show(events, planned.work, actions(planned), stream)
    return [json.loads(line) for line in lines]


def ran(planned: Planned, *texts: str) -> list[StepEvent]:
    """The events of an apply over a workspace with `texts`, all well."""
    return succeeded(planned.work, workspace(*texts))


def fine(planned: Planned) -> Iterator[StepEvent]:
    """The outcomes of an apply without a failure."""
    return (StepEvent(step, StepState.DONE, wrote=True) for step in planned.work.steps)


def broken(
    planned: Planned, address: str, error: ServiceError, role: StepRole | None = None
) -> Iterator[StepEvent]:
    """The events of an apply whose step at `address` fails."""
    failed = planned.step(address, role)
    lost: dict[int, PlanStep] = {}
    for step in planned.work.steps:
        cause = next((lost[need] for need in step.needs if need in lost), None)
        if cause is not None:
            lost[step.id] = cause
            yield StepEvent(step, StepState.SKIPPED, because=cause)
            continue
        yield StepEvent(step, StepState.STARTED)
        if step is failed:
            lost[step.id] = step
            yield StepEvent(step, StepState.FAILED, error)
        else:
            yield StepEvent(step, StepState.DONE, wrote=True)


def test_each_event_is_a_line() -> None:
    made = plan(*BATCH)
    assert told(made, ran(made))[:2] == [f"{CPU}: Creating...", f"{CPU}: Creation complete"]
    assert told(made, ran(made))[-2:] == [
        "batch-endpoint/scores: Setting the default deployment...",
        "batch-endpoint/scores: Default deployment set",
    ]


def test_a_replacement_and_an_update_have_words_of_their_own() -> None:
    replaced = plan(SMALL, backend=workspace(CLUSTER))
    updated = plan(CLUSTER + "max_instances: 9\n", backend=workspace(CLUSTER))
    assert told(replaced, ran(replaced, CLUSTER)) == [
        f"{CPU}: Destroying...",
        f"{CPU}: Destruction complete",
        f"{CPU}: Creating...",
        f"{CPU}: Creation complete",
    ]
    assert told(updated, ran(updated, CLUSTER))[-1] == f"{CPU}: Modifications complete"


def test_waiting_to_ask_again_says_for_how_long_and_why() -> None:
    made = plan(CLUSTER)
    events = [StepEvent(made.step(CPU), StepState.RETRYING, BUSY, delay=2.0)]
    assert told(made, events) == [f"{CPU}: Retrying in 2s: (TooManyRequests) slow down"]


def test_what_is_as_planned_already_is_said_and_not_counted() -> None:
    made = plan(CLUSTER)
    events = ran(made, CLUSTER)
    assert told(made, events)[-1] == f"{CPU}: Already there"
    assert summary(ended(made, events)).strip() == (
        "Apply complete! Resources: 0 added, 0 changed, 0 destroyed."
    )


def _outage(planned: Planned) -> Iterator[StepEvent]:
    """One write is taken and not read back; nothing else is started."""
    first, *rest = planned.work.steps
    yield StepEvent(first, StepState.DONE, BUSY, wrote=True, verified=False)
    for step in rest:
        yield StepEvent(step, StepState.CANCELLED, because=first)


def test_what_could_not_be_read_back_is_done_and_said_to_be_not_verified() -> None:
    made = plan(CLUSTER)
    events = list(_outage(made))
    assert told(made, events) == [f"{CPU}: Creation complete (not verified)"]
    assert summary(ended(made, events)).splitlines() == [
        "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.",
        "",
        "Not verified (written, but not read back):",
        f"  – {CPU}: (TooManyRequests) slow down",  # noqa: RUF001
    ]


def test_what_is_not_started_for_want_of_a_service_is_listed_and_no_cancellation() -> None:
    made = plan(CLUSTER, MODEL)
    found = ended(made, _outage(made))
    first, second = (step.target for step in made.work.steps)
    assert (found.complete, found.stopped, found.partial) == (False, False, True)
    lines = summary(found).splitlines()
    assert lines[0] == "Apply failed. Resources: 1 added, 0 changed, 0 destroyed."
    assert lines[lines.index("Not started:") + 1 :][:2] == [
        f"  the service did not answer for {first}",
        f"  – {second}",  # noqa: RUF001
    ]


def test_programs_are_told_what_was_not_verified_and_what_was_not_started() -> None:
    made = plan(CLUSTER, MODEL)
    found = messages(made, _outage(made))
    (complete,) = (one for one in found if one["type"] == "apply_complete")
    assert (complete["hook"]["wrote"], complete["hook"]["verified"]) == (True, False)
    first, second = (step.target for step in made.work.steps)
    assert [one["diagnostic"]["summary"] for one in found if one["type"] == "diagnostic"] == [
        f"{first}: not verified: it could not be read back: (TooManyRequests) slow down",
        f"{second}: not started: the service did not answer for {first}",
    ]


def test_a_failure_after_the_write_was_accepted_says_so() -> None:
    made = plan(CLUSTER)
    events = [StepEvent(made.step(CPU), StepState.FAILED, BUSY, wrote=True, verified=False)]
    found = ended(made, events)
    assert (found.partial, found.added) == (True, 0)
    assert outcome.accepted(events[0]) in summary(found)
    (told_so,) = (one for one in messages(made, events) if one["type"] == "diagnostic")
    assert outcome.accepted(events[0]) in told_so["diagnostic"]["detail"]


def test_creations_updates_and_replacements_are_counted() -> None:
    before = (CLUSTER, MODEL, ENDPOINT)
    made = plan(SMALL, MODEL, ENDPOINT + "description: d\n", DEPLOYMENT, backend=workspace(*before))
    found = ended(made, ran(made, *before))
    assert (found.added, found.changed, found.destroyed) == (2, 1, 1)


def test_an_endpoint_with_its_default_is_one_resource() -> None:
    made = plan(*BATCH)
    assert ended(made, ran(made)).added == 4


def test_what_goes_with_its_parent_is_counted() -> None:
    gone = plan(*BATCH, backend=workspace(*BATCH), destroying=True)
    found = ended(gone, ran(gone, *BATCH))
    assert (found.added, found.changed, found.destroyed) == (0, 0, 4)
    assert summary(found, destroying=True) == "Destroy complete! Resources: 4 destroyed.\n"


def test_a_deployment_replaced_with_its_endpoint_is_counted_twice() -> None:
    before = (CLUSTER, MODEL, ENDPOINT + "location: eastus\n", DEPLOYMENT)
    after = (CLUSTER, MODEL, ENDPOINT + "location: westus2\n", DEPLOYMENT)
    made = plan(*after, backend=workspace(*before))
    found = ended(made, fine(made))
    assert (found.added, found.changed, found.destroyed) == (2, 0, 2)


def test_a_failure_is_told_once_with_all_that_hangs_on_it() -> None:
    made = plan(*BATCH)
    assert summary(ended(made, broken(made, CPU, QUOTA))) == (
        "Apply failed. Resources: 2 added, 0 changed, 0 destroyed.\n"
        "\n"
        "✗ compute/cpu-cluster: Creation failed\n"
        "    (ClusterCoreQuotaReached) no cores left\n"
        "    ask\n"
        "    request: r-1\n"
        "    hint: lower `max_instances`, delete idle clusters, or request more quota;"
        " `mlctl compute list-usage` shows what is left\n"
        "  – batch-deployment/scores/first: skipped because of compute/cpu-cluster\n"  # noqa: RUF001
        "  – batch-endpoint/scores (setting the default deployment): skipped because of"  # noqa: RUF001
        " compute/cpu-cluster\n"
        "\n"
        "Finished steps stay. Run the same command again to do the rest.\n"
    )


def test_a_resource_does_not_wait_for_itself() -> None:
    made = plan(SMALL, backend=workspace(CLUSTER))
    text = summary(ended(made, broken(made, CPU, QUOTA, StepRole.DELETE)))
    assert f"{CPU}: Destruction failed" in text
    assert "skipped" not in text


def test_what_goes_with_its_parent_is_told() -> None:
    gone = plan(*BATCH, backend=workspace(*BATCH), destroying=True)
    assert f"{FIRST}: Destruction complete" in told(gone, ran(gone, *BATCH))


def test_a_resource_that_was_destroyed_and_not_made_again_is_named() -> None:
    made = plan(SMALL, backend=workspace(CLUSTER))
    found = ended(made, broken(made, CPU, QUOTA, StepRole.CREATE))
    assert (found.added, found.destroyed) == (0, 1)
    assert f"{CPU} was destroyed to be replaced, and does not exist now." in summary(found)


def test_an_update_whose_last_step_failed_is_not_counted() -> None:
    before = (CLUSTER, MODEL, ENDPOINT)
    made = plan(
        CLUSTER,
        MODEL,
        ENDPOINT + "description: d\ndefaults: {deployment_name: first}\n",
        DEPLOYMENT,
        backend=workspace(*before),
    )
    assert ended(made, broken(made, FIRST, QUOTA)).changed == 0
    assert ended(made, ran(made, *before)).changed == 1


def test_a_promise_that_was_not_kept_shows_both_values() -> None:
    made = plan(CLUSTER)
    wrong = [FieldChange(("max_instances",), 4, 2), FieldChange(("tags", "a"), None, "x")]
    text = summary(ended(made, broken(made, CPU, NotEffective(Address.parse(CPU), wrong))))
    assert "`max_instances`: planned 2, found 4" in text
    assert "`tags.a`: planned x, found nothing" in text


def test_a_world_that_moved_asks_for_a_new_plan() -> None:
    made = plan(CLUSTER)
    found = ended(made, broken(made, CPU, Stale("Stale", "it has changed")))
    assert found.stale
    assert summary(found).endswith("Nothing was overwritten. Make a new plan, and apply that.\n")


def test_what_took_too_long_is_told_from_other_failures() -> None:
    made = plan(CLUSTER)
    late = ended(made, broken(made, CPU, Permanent("TimedOut", "not yet")))
    assert (late.timed_out, ended(made, broken(made, CPU, BUSY)).timed_out) == (True, False)


def test_each_kind_of_refusal_has_its_advice() -> None:
    made = plan(CLUSTER)
    for error, advice in (
        (BUSY, "try again later"),
        (Permanent("Unauthorized", "who?", status=401), "az login"),
        (Permanent("AuthorizationFailed", "no", status=403), "request a role"),
    ):
        assert advice in summary(ended(made, broken(made, CPU, error)))


def test_what_never_started_is_listed_as_such() -> None:
    made = plan(*BATCH)
    found = ended(made, [StepEvent(step, StepState.CANCELLED) for step in made.work.steps])
    assert not found.complete
    assert summary(found).startswith("Apply was cancelled. Resources: 0 added")
    assert "Not started:\n  – compute/cpu-cluster\n" in summary(found)  # noqa: RUF001


def test_a_long_list_of_what_was_passed_over_is_cut() -> None:
    made = plan(*(CLUSTER.replace("cpu", f"cpu{'b' * n}") for n in range(15)), *BATCH[1:])
    many = [StepEvent(step, StepState.CANCELLED) for step in (*made.work.steps, *made.work.steps)]
    renamed = plan(*(ENDPOINT.replace("scores", f"scores-{n}") for n in range(25)))
    found = ended(renamed, [StepEvent(step, StepState.CANCELLED) for step in renamed.work.steps])
    assert len(ended(made, many).cancelled) == len(made.work.steps)
    assert "and 5 more" in summary(found)


def test_the_services_words_do_not_steer_the_terminal() -> None:
    made = plan(CLUSTER)
    found = ended(made, broken(made, CPU, Permanent("X\x1b[31m", "a\x1b[2Jb")))
    assert "\x1b" not in summary(found)
    assert "\x1b[" in summary(found, color=True)


def test_json_lines_are_terraforms_messages_in_terraforms_order() -> None:
    made = plan(CLUSTER)
    assert [one["type"] for one in messages(made, ran(made))] == [
        "version",
        "planned_change",
        "change_summary",
        "apply_start",
        "apply_complete",
        "change_summary",
    ]


def test_json_lines_say_what_was_done_to_what_and_how_long_it_took() -> None:
    made = plan(CLUSTER)
    start, complete, last = messages(made, ran(made))[-3:]
    assert start["hook"]["resource"]["addr"] == CPU
    assert complete["hook"] | {"action": "create", "wrote": True} == complete["hook"]
    assert complete["hook"]["id_value"].endswith("/computes/cpu-cluster")
    assert complete["hook"]["elapsed_seconds"] > 0
    assert last["changes"] == {"add": 1, "change": 0, "remove": 0, "operation": "apply"}


def test_json_lines_plan_no_change_for_what_stays() -> None:
    made = plan(CLUSTER, ENDPOINT, backend=workspace(CLUSTER))
    planned = [one for one in messages(made, ran(made, CLUSTER)) if one["type"] == "planned_change"]
    assert [one["change"]["resource"]["addr"] for one in planned] == ["batch-endpoint/scores"]


def test_json_lines_tell_failures_and_what_was_skipped() -> None:
    made = plan(*BATCH)
    found = messages(made, broken(made, CPU, QUOTA))
    errors = [one["diagnostic"] for one in found if one["type"] == "diagnostic"]
    assert [one["severity"] for one in errors] == ["error", "warning", "warning"]
    assert errors[0]["code"] == "ClusterCoreQuotaReached"
    assert sum(one["type"] == "apply_errored" for one in found) == 1
    assert found[-1]["@message"] == (
        "Apply incomplete. Resources: 2 added, 0 changed, 0 destroyed."
    )


def test_a_wait_is_progress() -> None:
    made = plan(CLUSTER)
    events = [StepEvent(made.step(CPU), StepState.RETRYING, BUSY, delay=2.0)]
    assert messages(made, events)[3]["type"] == "apply_progress"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_sees_what_has_ended_and_how_long_it_took() -> None:
    made = plan(*BATCH)
    stream, clock = _Terminal(), iter(range(0, 100_000, 7))
    found = progress.watch(ran(made), made.work, actions(made), stream, lambda: float(next(clock)))
    assert found.complete
    assert f"{CPU}: Creation complete after" in stream.getvalue()


def test_what_takes_long_says_that_it_still_runs() -> None:
    made = plan(CLUSTER)
    assert step_text.still_running(made.step(CPU), 20) == f"{CPU}: Still creating... [20s elapsed]"
