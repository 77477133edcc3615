"""The jobs of an Azure workspace: invoke, create, show, list, cancel, wait.

A call of an endpoint is one job: its name is chosen here and sent along, so that a job whose answer
was lost is found by it. The call is never repeated: azure-ai-ml repeats it, which has started the
same job many times.

Endpoints are called, and their jobs listed, on the workspace's data plane: another host, which
needs its own token. The rest is on the resource manager.
"""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, redirect_stdout
from pathlib import Path
from typing import Any
from uuid import UUID

from mlctl import catalog
from mlctl.backends.azure import capacity, errors, sdk
from mlctl.backends.azure.arm import VERSION, ArmClient, path_of
from mlctl.backends.azure.clouds import FRONT, Cloud, data_plane, data_plane_token
from mlctl.backends.azure.errors import decodes_answers
from mlctl.backends.azure.job_bodies import creation_time, job_of, newest, recent, run_of
from mlctl.backends.azure.reads import resource_path, workspace_path
from mlctl.backends.ports.jobs import Job, JobEvent, JobListView, JobProgress, MetricPoint
from mlctl.catalog import limits
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import is_low_priority
from mlctl.pointer import Data, get
from mlctl.service_errors import CONFLICT, NotFound, Permanent, ServiceError, Transient
from mlctl.workload import Workload

_HISTORY = "/history/v1.0"
_PIPELINES = "2024-01-01-preview"  # of pipeline jobs, as in azure-ai-ml 1.35.2
_LISTS = "2020-09-01-dataplanepreview"  # of the lists of an endpoint's jobs, as in azure-ai-ml
_SCORES = "score"  # the output of a job of an endpoint
_LOOK = 10.0  # seconds between two polls of a job


@decodes_answers
@dataclass(frozen=True, slots=True)
class AzureJobs:
    """The jobs of one workspace; each method does what its port says."""

    arm: ArmClient
    scope: Scope
    cloud: Cloud

    @property
    def simulated(self) -> bool:
        return False

    def invoke(
        self,
        endpoint: str,
        deployment: str | None,
        body: Mapping[str, Data],
        workload: Workload,  # noqa: ARG002 - for the simulated cloud alone
        workload_name: str,  # noqa: ARG002
    ) -> Job:
        """Call the endpoint's scoring URI."""
        _refuse_local(body)
        address = Address("batch-endpoint", endpoint)
        endpoint_body = self.arm.get(resource_path(address, self.scope))
        uri = str(get(endpoint_body, ("properties", "scoringUri")) or "")
        if not uri:
            raise Permanent("NoScoringUri", f"{address} has no scoring URI yet")
        plane = data_plane(self.arm, self.cloud, uri)
        job = _invoke(plane, uri, deployment, body, self.show)
        return self._tagged(job, body["tags"]) if body.get("tags") else job

    def create(
        self,
        name: str | None,
        body: Mapping[str, Data],
        workload: Workload,  # noqa: ARG002 - for the simulated cloud alone
        workload_name: str,  # noqa: ARG002
    ) -> Job:
        """Create a job; a pipeline also gets a token for the data plane, as in azure-ai-ml."""
        chosen = name or f"job-{self.arm.clock.rng.getrandbits(48):012x}"
        request_body = {"properties": body["properties"]}
        version, headers = VERSION, {}
        if request_body["properties"].get("jobType") == "Pipeline":
            version, headers = (
                _PIPELINES,
                {"x-azureml-token": data_plane_token(self.arm, self.cloud)},
            )
        data, _ = self.arm.send(
            "PUT", self._at(chosen), version, body=request_body, headers=headers
        )
        return job_of(data)

    def show(self, name: str) -> Job:
        return job_of(self.arm.get(self._at(name)))

    def list(
        self,
        endpoint: str | None = None,
        deployment: str | None = None,
        *,
        view: JobListView = JobListView.ACTIVE,
        limit: int | None = None,
    ) -> builtins.list[Job]:
        if endpoint is None:
            at = workspace_path(self.scope) + "/jobs"
            return newest(self.arm.pages(at, listViewType=view.value), limit)
        parent = Address("batch-endpoint", endpoint)
        if deployment is not None:
            parent = Address("batch-deployment", deployment, endpoint)
        at = resource_path(parent, self.scope)
        self.arm.get(at)  # if it does not exist, the list would be empty
        base = self._base()
        url = f"{base.rstrip('/')}{FRONT}{at}/jobs"
        return newest(data_plane(self.arm, self.cloud, base).pages(url, _LISTS), limit)

    def unfinished(self) -> builtins.list[Job]:
        """List unfinished jobs; a list with the newest first is not read to its end."""
        at = workspace_path(self.scope) + "/jobs"
        listed = self.arm.pages(at, listViewType=JobListView.ALL.value)
        return [job for job in recent(listed) if not job.ended]

    def children(self, name: str) -> builtins.list[Job]:
        """Return the children that the run history has."""
        base = self._base()
        run = f"{_HISTORY}{workspace_path(self.scope)}{path_of('runs', name)}"
        url = f"{base.rstrip('/')}{run}/children"
        runs = [
            run_of(run, self.scope) for run in data_plane(self.arm, self.cloud, base).pages(url, "")
        ]
        return sorted(runs, key=creation_time)

    def change(self, name: str, changes: Mapping[str, Data]) -> Job:
        """Change the run, as azure-ai-ml 1.35.2 archives a job; tags that are not sent stay."""
        at_run = {"isArchived": "hidden"}
        sent = {at_run.get(key, key): value for key, value in changes.items()}
        job = self.show(name)
        old_tags, tags = job.body["properties"].get("tags") or {}, changes.get("tags")
        if isinstance(tags, Mapping) and old_tags.keys() - tags.keys():
            raise Permanent("TagStays", f"mlctl cannot remove a tag of job {name} on Azure")
        self._change_run(job, sent)
        return self.show(name)

    def cancel(self, name: str) -> Job:
        job = self.show(name)
        if job.ended:
            text = f"job {name} has already ended: it is {job.status}"
            raise Permanent("Conflict", text, status=CONFLICT)
        self.arm.begin("POST", self._at(name) + "/cancel").wait()
        return self.show(name)

    def follow(self, name: str, seconds: float, *, detail: bool) -> Iterator[JobProgress]:  # noqa: ARG002
        """Yield progress; the last one of a job that has not begun says what it waits for."""
        clock = self.arm.clock
        began, last_line = clock.now(), ""
        while True:
            job, at = self.show(name), clock.now() - began
            new = (
                (JobEvent(at, "STATUS", {"status": job.status}),) if job.status != last_line else ()
            )
            last = job.ended or at >= seconds
            yield JobProgress(at, with_reasons(self.arm, self.scope, job) if last else job, {}, new)
            last_line = job.status
            if last:
                return
            clock.pause(min(_LOOK, seconds - at))

    def stream(self, name: str) -> None:
        """Stream as azure-ai-ml does."""
        self.show(name)
        with self._client(name) as client:
            client.jobs.stream(name)

    def metrics(self, name: str) -> builtins.list[MetricPoint]:
        """Raise a ServiceError: not supported."""
        text = f"mlctl cannot get the metrics of jobs from Azure yet: ask MLflow for run `{name}`"
        raise Permanent("NotSupported", text)

    def download(self, name: str, folder: Path, output: str | None, *, every: bool) -> None:
        """Download as azure-ai-ml does."""
        job = self.show(name)
        if not job.ended:
            text = f"job {name} has not ended; `mlctl job wait --name {name}` waits for it"
            raise Permanent("JobNotEnded", text, status=CONFLICT)
        # For a job of an endpoint azure-ai-ml downloads the scores, whatever output is named, and
        # does not give them their own folder.
        scores = "deploymentName" in job.body["properties"]
        if scores and output not in (None, _SCORES):
            raise _no_output(name, output)
        into = folder / "named-outputs" / _SCORES if scores else folder
        with self._client(name) as client, redirect_stdout(io.StringIO()):
            client.jobs.download(name, download_path=into, output_name=output, all=every)
        if output not in (None, "default") and not (folder / "named-outputs" / output).exists():
            raise _no_output(name, output)

    def _client(self, name: str) -> AbstractContextManager[Any]:
        return sdk.quiet_client(self.arm, self.scope, self.cloud, f"job {name}")

    def _tagged(self, job: Job, tags: Mapping[str, Data]) -> Job:
        """Set the tags of a job that was just started.

        The service accepts them only for an existing job: "Only description, tags, displayName,
        properties, and isArchived can be updated" (Azure/azure-sdk-for-python#42156).
        """
        try:
            self._change_run(self.show(job.name), {"tags": dict(tags)})
            return self.show(job.name)
        except ServiceError as error:
            text = f"job {job.name} was started, but its tags could not be set: {error.message}"
            raise Permanent(error.code, text, status=error.status) from None

    def _change_run(self, job: Job, changes: Data) -> None:
        """Change a job's mutable values, on its run in the run history."""
        base = self._base()
        experiment = path_of("experiments", str(job.body["properties"].get("experimentName")))
        url = f"{base.rstrip('/')}{_HISTORY}{workspace_path(self.scope)}{experiment}"
        url += path_of("runs", job.name)
        data_plane(self.arm, self.cloud, base).send("PATCH", url, "", body=changes)

    def _at(self, name: str) -> str:
        return workspace_path(self.scope) + path_of("jobs", name)

    def _base(self) -> str:
        """Return the URL of the workspace's data plane, from its discovery URL."""
        url = get(self.arm.get(workspace_path(self.scope)), ("properties", "discoveryUrl"))
        plane = data_plane(self.arm, self.cloud, str(url)) if url else None
        base = plane.get(str(url), "").get("api") if plane else None
        if not base:
            raise errors.malformed_response("the workspace names no data plane")
        return str(base)


def _no_output(name: str, output: str | None) -> NotFound:
    return NotFound("OutputNotFound", f"job {name} has no output `{output}`", status=404)


_BEFORE = ("NotStarted", "Queued", "Preparing", "Provisioning", "Starting")


def with_reasons(arm: ArmClient, scope: Scope, job: Job) -> Job:
    """Add what the job waits for; unchanged if that is unknown."""
    properties = job.body["properties"]
    if job.status not in _BEFORE:
        return job
    try:
        with errors.answers_decoded():
            cluster = _cluster(arm, scope, properties)
            reasons = "; ".join(_reasons(arm, scope, cluster)) if cluster else ""
    except ServiceError:
        return job
    run = {"run": {"waits_for": reasons}} if reasons else {}
    return Job(job.name, {**job.body, "properties": {**properties, **run}})


def _cluster(arm: ArmClient, scope: Scope, job: Mapping[str, Data]) -> Mapping[str, Data] | None:
    """Return the cluster of a job; an endpoint's job has that of its deployment (recorded)."""
    compute_id = job.get("computeId")
    if not compute_id and job.get("deploymentName"):
        owner = Address("batch-deployment", str(job["deploymentName"]), str(job["endpointName"]))
        compute_id = get(arm.get(resource_path(owner, scope)), ("properties", "compute"))
    name = str(compute_id or "").rpartition("/")[2]
    return arm.get(resource_path(Address("compute", name), scope)) if name else None


def _reasons(arm: ArmClient, scope: Scope, body: Mapping[str, Data]) -> Iterator[str]:
    inner = get(body, ("properties", "properties")) or {}
    current, sought = (
        int(inner.get(f"{prefix}NodeCount") or 0) for prefix in ("current", "target")
    )
    if current >= sought > 0:
        yield "nodes in use by other jobs of the cluster"
        return
    if inner.get("allocationState") == "Resizing" and not sought:
        yield "a resource lock blocks the cluster: resizing (0 -> 0)"
    else:
        yield f"nodes: {current} of {sought} allocated"
    for entry in errors.objects(inner.get("errors"), "errors"):
        error = entry.get("error") or entry
        yield errors.redact(f"({error.get('code')}) {error.get('message')}")
    low = is_low_priority(inner.get("vmPriority"))
    counted, noun = (
        (limits.LOW_PRIORITY_QUOTA, "low-priority")
        if low
        else (limits.DEDICATED_QUOTA, "dedicated")
    )
    for quota in capacity.usage(arm, scope, catalog.region(body["location"])):
        if quota.family == counted and quota.limit is not None and quota.used >= quota.limit:
            yield f"quota: {quota.used} of {quota.limit} {noun} cores are used"


Show = Callable[[str], Job]


def _invoke(
    plane: ArmClient, uri: str, deployment: str | None, body: Mapping[str, Data], show: Show
) -> Job:
    """Call a scoring URI and return its job; by name, if the answer is lost."""
    usual = f"batchjob-{UUID(int=plane.clock.rng.getrandbits(128), version=4)}"  # as the service's
    name = str(body.get("name") or usual)
    headers = {"azureml-model-deployment": deployment} if deployment else {}
    try:
        data, _ = plane.send("POST", uri, "", body=_sent(body, name), headers=headers)
        return job_of(data)
    except Transient as error:
        if not error.ambiguous:
            raise
        return _find_lost_job(name, error, show)


def _refuse_local(body: Mapping[str, Data]) -> None:
    """Refuse inputs on this machine; raises Permanent if an input is a local path."""
    for name, data_input in (body.get("inputData") or {}).items():
        uri = str(data_input.get("uri") or "")
        if (
            "uri" in data_input
            and not uri.startswith(("azureml:", "/subscriptions/"))
            and "://" not in uri
        ):
            text = (
                f"input {name} is the local path `{uri}`, which Azure cannot read: upload it,"
                " and name it as azureml://datastores/NAME/paths/PATH or by its https URL"
            )
            raise Permanent("LocalInput", text)


def _sent(body: Mapping[str, Data], name: str) -> Data:
    """Return the body of a call: the name as `jobName`, no tags, which only existing jobs take."""
    properties = {key: entry for key, entry in body.items() if key not in ("name", "tags")}
    return {"properties": {**properties, "jobName": name}}


def _find_lost_job(name: str, error: Transient, show: Show) -> Job:
    try:
        return show(name)
    except NotFound:
        remark = "and no job of that name exists"
    except ServiceError:
        remark = "and whether it was started could not be read"
    text = (
        f"{error.message}: the answer to the call that starts job {name} was lost, {remark};"
        " look at `mlctl batch-endpoint list-jobs` before you call again"
    )
    raise Transient(error.code, text, status=error.status, ambiguous=True) from None
