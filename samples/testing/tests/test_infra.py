"""What this repository promises of its infrastructure; each test has a workspace of its own."""

import pytest

HOUR = 3600


@pytest.fixture
def scoring(azureml):
    """A workspace with all of infra/."""
    azureml.apply("infra")
    return azureml


def test_applying_twice_changes_nothing(azureml):
    assert azureml.apply("infra").added == 4
    assert azureml.plan("infra").plan.empty


def test_production_grows_to_three_times_as_many_nodes(scoring):
    planned = scoring.plan("infra", env="prod").plan
    assert [str(change.address) for change in planned.pending] == ["compute/scoring-nodes"]
    scoring.apply("infra", env="prod")
    assert nodes(scoring)["maxNodeCount"] == 12


def test_other_teams_find_the_endpoint_with_their_own_sdk(scoring):
    endpoint = scoring.ml_client.batch_endpoints.get("claims-scoring")
    assert endpoint.defaults.deployment_name == "blue"
    assert [one.name for one in scoring.ml_client.compute.list()] == ["scoring-nodes"]


def test_a_lost_node_costs_time_but_no_file(scoring, preempt):
    job = scoring.invoke("claims-scoring", files=400, seconds_per_file=30)
    scoring.advance("20m")
    assert preempt("scoring-nodes") == 1
    done = scoring.wait(job)
    assert (done.status, run(done)["preempted_nodes"]) == ("Completed", 1)
    assert run(done)["mini_batches"]["failed"] == 0


def test_a_night_on_which_nodes_live_two_hours_ends_before_morning(scoring, preempt):
    preempt.by_rate(0.5)
    done = scoring.wait(scoring.invoke("claims-scoring", files=1500, seconds_per_file=40))
    assert done.status == "Completed"
    assert run(done)["makespan_s"] < 8 * HOUR


def test_a_job_that_loses_all_its_nodes_is_canceled_and_runs_through_the_next_time(
    scoring, preempt
):
    preempt.by_script([("15m", "all")])
    lost = scoring.wait(scoring.invoke("claims-scoring", files=400, seconds_per_file=30))
    assert (lost.status, run(lost)["preempted_nodes"]) == ("Canceled", 4)
    again = scoring.wait(scoring.invoke("claims-scoring", files=400, seconds_per_file=30))
    assert again.status == "Completed"


def test_an_idle_cluster_goes_back_to_no_nodes(scoring):
    scoring.wait(scoring.invoke("claims-scoring", files=20, seconds_per_file=5))
    scoring.advance("10m")
    assert nodes(scoring)["currentNodeCount"] == 0


def nodes(workspace):
    """What the service says of the cluster's nodes."""
    inner = workspace.show("compute/scoring-nodes")["properties"]["properties"]
    return {**inner, **inner["scaleSettings"]}


def run(job):
    """The numbers of a job's run."""
    return job.body["properties"]["run"]
