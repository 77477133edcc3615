"""What a forecast reads in a workspace, on every backend."""

from __future__ import annotations

from mlctl.backends.ports.backend import Backend
from mlctl.cli.forecast.subject import with_live
from mlctl.config.graph import Graph
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.fields import file_of
from mlctl.simulator.engine.model import Tier
from mlctl.workload import Workload
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, deployment, endpoint, model
from tests.builders.bodies import put as put_

NOTHING = Graph({}, ())


def test_a_forecast_reads_the_deployment_and_its_cluster_as_they_are(backend: Backend) -> None:
    put_(backend, CPU, cluster(nodes=7, tier="LowPriority", least=1))
    put_(backend, MODEL, model())
    put_(backend, ENDPOINT, endpoint())
    settings = {
        "miniBatchSize": 20,
        "maxConcurrencyPerInstance": 3,
        "retrySettings": {"maxRetries": 1, "timeout": "PT10M"},
        "resources": {"instanceCount": 5},
    }
    put_(backend, BLUE, deployment(backend.scope, **settings))
    work = Workload(files=1000, seconds_per_file=1)
    for named in (None, BLUE):
        subject = read(
            with_live(NOTHING, backend, named), Wanted(work, deployment=named, workspace="ws")
        )
        spec, job = subject.scenario.cluster, subject.scenario.job
        assert (spec.tier, spec.min_instances, spec.max_instances) == (Tier.LOW_PRIORITY, 1, 7)
        assert (job.mini_batch_size, job.concurrency, job.instance_count) == (20, 3, 5)
        assert (job.max_retries, job.timeout_s) == (1, 600)
        assert file_of(subject.deployment) is file_of(subject.cluster) is None
