"""Calls of batch endpoints: one call is one job, whatever becomes of its answer.

The name of the job is chosen here and sent along, so that a job whose answer was lost is found by
it. The call is never repeated: azure-ai-ml repeats it, which has started the same job many times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from uuid import UUID

from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.job_bodies import job_of
from mlctl.backends.ports.jobs import Job
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, ServiceError, Transient

Show = Callable[[str], Job]


def call(
    plane: ArmClient, uri: str, deployment: str | None, body: Mapping[str, Data], show: Show
) -> Job:
    """The job that a call of a scoring URI starts; by its name, where the answer is lost.

    Raises:
        Transient: refused for now; or the answer was lost and no such job is to be seen.
        ServiceError: refused.
    """
    name = str(body.get("name") or _new_name(plane.clock.rng))
    headers = {"azureml-model-deployment": deployment} if deployment else {}
    try:
        data, _ = plane.send("POST", uri, "", body=_sent(body, name), headers=headers)
        return job_of(data)
    except Transient as error:
        if not error.ambiguous:
            raise
        return _find_lost_job(name, error, show)


def refuse_local(body: Mapping[str, Data]) -> None:
    """Refuse inputs on this machine.

    Raises:
        Permanent: an input is a local path.
    """
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


def _new_name(rng: Random) -> str:
    """A name as the service makes them for such jobs."""
    return f"batchjob-{UUID(int=rng.getrandbits(128), version=4)}"


def _sent(body: Mapping[str, Data], name: str) -> Data:
    """The body of a call; the service reads the name of the job as `jobName`, as the SDK has it.

    Tags are not of it: the service takes them for a job that is there.
    """
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
