"""Submitting jobs to clusters: a job is added, and begins at once or when its turn has come."""

from __future__ import annotations

from dataclasses import replace

from mlctl.simulator.engine import autoscaling, capacity
from mlctl.simulator.engine.jobs import BatchJob, ClusterJob, JobStatus, TrainingJob
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, TrainingSpec
from mlctl.simulator.engine.state import Cluster, CoreQuota, World, add_job, log_event


def create_cluster(world: World, spec: ClusterSpec) -> Cluster:
    """A new cluster without nodes."""
    time = world.name_uses[spec.name] = world.name_uses.get(spec.name, 0) + 1
    tag = spec.name if time == 1 else f"{spec.name}#{time}"
    capacity.region_capacity(world, spec.region, spec.tier)
    for quota, limit in spec.quotas:
        world.quotas.setdefault(quota, CoreQuota(limit))
    regional = capacity.key_of(spec.region, spec.tier)
    cluster = world.clusters[spec.name] = Cluster(spec, tag, regional, world.now)
    log_event(world, "CLUSTER", cluster=spec.name, min=spec.min_instances, max=spec.max_instances)
    return cluster


def add(world: World, spec: BatchSpec | TrainingSpec) -> ClusterJob:
    """A new job that has not begun."""
    job: ClusterJob
    if isinstance(spec, BatchSpec):
        job = BatchJob(spec.name, world.now, spec=spec, total=spec.mini_batches)
    else:
        own_cluster = spec.serverless
        job = TrainingJob(spec.name, world.now, own=own_cluster, spec=spec)
    job.status = JobStatus.NOT_STARTED
    add_job(world, job)
    return job


def begin(world: World, job: ClusterJob) -> None:
    """Queue a job on its cluster, which is there; one of its own is created."""
    cluster = world.clusters[job.cluster_name] if job.own is None else _own(world, job, job.own)
    job.tier, job.cores, job.price = cluster.spec.tier, cluster.spec.cores, cluster.spec.price
    job.status, job.submitted = JobStatus.QUEUED, world.now
    cluster.jobs.append(job.name)
    of = {"mini_batches": job.total} if isinstance(job, BatchJob) else {"steps": job.spec.steps}
    log_event(world, "SUBMIT", job=job.name, cluster=cluster.spec.name, **of)
    instances, limit = job.spec.instance_count, cluster.spec.max_instances
    if isinstance(job, BatchJob) and instances > limit:
        log_event(world, "WARNING", job=job.name, instances=instances, runs_with=limit)
    autoscaling.reconcile(world, cluster)


def _own(world: World, job: ClusterJob, spec: ClusterSpec) -> Cluster:
    instances = job.spec.instance_count
    bounds = replace(spec, min_instances=0, max_instances=instances, ephemeral=True)
    return create_cluster(world, bounds)
