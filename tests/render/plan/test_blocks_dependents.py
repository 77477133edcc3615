"""A replacement names the line that forces it, and what depends on it."""

from __future__ import annotations

from mlctl.render.plan import blocks as render
from tests.builders.plans import applied, planned
from tests.builders.resources import parsed
from tests.builders.workspace import cloud

TEXTS = (
    "$schema: https://x/amlCompute.schema.json\nname: cpu\ntype: amlcompute\n"
    "max_instances: 2\nsize: Standard_DS3_v2\n",
    "$schema: https://x/model.schema.json\nname: heart\nversion: 1\n"
    "path: azureml://jobs/train/outputs/model/\n",
    "$schema: https://x/batchEndpoint.schema.json\nname: scores\n",
    "$schema: https://x/batchDeployment.schema.json\nname: first\nendpoint_name: scores\n"
    "model: azureml:heart:1\ncompute: azureml:cpu\n",
)


def test_the_line_that_forces_it_is_named_where_another_line_changes_first() -> None:
    backend = cloud()
    endpoint = "$schema: https://x/batchEndpoint.schema.json\nname: scores\ndescription: a\n"
    applied(backend, *parsed(endpoint))
    moved = endpoint.replace("description: a", "description: b") + "location: westus2\n"
    shown = render.human(planned(backend, *parsed(moved)).plan)
    assert "must be replaced  (main.yml:3)" in shown
    assert "(because `location` (main.yml:4) cannot be changed in place)" in shown


def test_what_refers_to_what_is_replaced_depends_on_it() -> None:
    backend = cloud()
    applied(backend, *parsed(*TEXTS))
    made = planned(backend, *parsed(TEXTS[0].replace("DS3", "DS4"), *TEXTS[1:])).plan
    (change,) = made.pending
    assert [str(one) for one in change.dependents] == ["batch-deployment/scores/first"]
    assert "(batch-deployment/scores/first depends on it)" in render.human(made)


def test_nothing_depends_on_what_is_changed_in_place() -> None:
    backend = cloud()
    applied(backend, *parsed(*TEXTS))
    text = TEXTS[0].replace("max_instances: 2", "max_instances: 3")
    (change,) = planned(backend, *parsed(text, *TEXTS[1:])).plan.pending
    assert change.dependents == ()
