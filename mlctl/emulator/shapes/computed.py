"""What the service computes in answers: the rules and conditions that shapes name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from uuid import UUID

from mlctl import source
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import TENANT
from mlctl.emulator.shapes.protocols import operation_url
from mlctl.emulator.shapes.shape import (
    OMITTED,
    Phase,
    ResponseField,
    computed,
    condition,
    dotnet_time,
    named,
    render,
    section,
    shape_of,
)
from mlctl.kinds.address import PROVIDER, Reference
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.resources.datastores import OWN
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.workspaces import companions

_LABELLED = "2022-12"  # the first api-version with labels
_BRIEF = "2024-04-01"  # from it on less is shown of an endpoint in motion
_LATER = "2023"  # before it a new deployment was Updating, without probes, timed out at once
_ENDPOINT_ID = "azureml.onlineendpointid"
_REQUESTS = {
    "maxQueueWait": "PT0S",
    "requestTimeout": "PT5S",
    "maxConcurrentRequestsPerInstance": 1,
}
_COMMAND = "Command"
_KINDS = (_COMMAND, "Pipeline", "Sweep")


@computed
def _system_data_of_nobody(field: ResponseField) -> Data:
    system_data = render(named("system-data"), field.stored or {}, field.occasion)
    return {key: value for key, value in system_data.items() if key.endswith("At")}


@computed
def _model_properties(field: ResponseField) -> Data:
    return _staged("model-properties", field, archived="Archived")


@computed
def _environment_properties(field: ResponseField) -> Data:
    return _staged("environment-properties", field, anonymous="Logged")


@computed
def _component_properties(field: ResponseField) -> Data:
    return _staged("component-properties", field, anonymous="Logged")


def _staged(
    name: str, field: ResponseField, *, anonymous: str = "Development", archived: str = ""
) -> Data:
    """The properties of an asset with a stage: `anonymous` and `archived` are its stages then."""
    stored: dict[str, Data] = dict(field.stored)
    stored.setdefault("stage", anonymous if stored.get("isAnonymous") else "Development")
    if stored.get("isArchived") and archived:
        stored["stage"] = archived
    return render(named(name), stored, field.occasion, field.sent)


@computed
def _labels(field: ResponseField) -> Data:
    """The free properties of an environment: the service labels the newest version `latest`."""
    occasion, address = field.occasion, field.occasion.address
    properties = {
        key: value for key, value in (field.stored or {}).items() if key != "azureml.labels"
    }
    if address is None or occasion.api_version < _LABELLED:
        return properties
    newest = occasion.call.peek(address.at(None))
    is_named = newest is not None and not newest.body["properties"].get("isAnonymous")
    latest = is_named and newest is not None and newest.address.version == address.version
    return {**properties, "azureml.labels": "latest" if latest else ""}


@computed
def _data_properties(field: ResponseField) -> Data:
    """Null where none were sent; an empty map in lists (recorded: data-list-versions-2025)."""
    is_listed = field.occasion.call.request.path.endswith("/versions")
    return {} if field.stored is None and is_listed else field.stored


@computed
def _conda(field: ResponseField) -> Data:
    """A conda file as JSON text, with indentation; "" where there is none."""
    if not isinstance(field.stored, str) or not field.stored.strip():
        return ""
    document = source.plain(field.stored)
    if not isinstance(document, dict):
        return document
    return json.dumps(document, indent=2, ensure_ascii=False)


@computed
def _batch_cluster(field: ResponseField) -> Data:
    """The underlying cluster of Azure Batch, shown only while a cluster is being changed."""
    address = field.occasion.address
    if address is None or field.occasion.phase is not Phase.CHANGING:
        return None
    scope = field.occasion.call.scope
    provider = f"{scope.group}/providers/Microsoft.BatchAI"
    return f"{provider}/workspaces/{scope.workspace}/clusters/{address.name}"


@computed
def _port(field: ResponseField) -> Data:
    """What was sent, until the service has settled what `NotSpecified` means."""
    if field.occasion.phase is Phase.DONE:
        return field.stored
    return field.sent or "NotSpecified"


@computed
def _compute_state(field: ResponseField) -> Data:
    """A PUT over a cluster is shown as `Creating`, too; a PATCH is not."""
    overwritten = field.occasion.call.request.method == "PUT"
    is_put = overwritten and field.occasion.phase is Phase.CHANGING
    return "Creating" if is_put else field.occasion.state


@computed
def _creator(field: ResponseField) -> Data:
    call = field.occasion.call
    return {"userOrgId": call.guid("tenant"), "userId": call.guid("user")}


@computed
def _applications(field: ResponseField) -> Data:
    address, region = field.occasion.address, field.occasion.call.state.location
    host = f"https://{address.name if address else ''}.{region}.instances.azureml.ms"
    return [
        {"displayName": "Jupyter", "endpointUri": f"{host}/tree/"},
        {"displayName": "Jupyter Lab", "endpointUri": f"{host}/lab"},
    ]


@computed
def _creation(field: ResponseField) -> Data:
    return {
        "operationName": "Create",
        "operationTime": dotnet_time(clock.iso(control.now(field.occasion.call.handle))),
        "operationStatus": "Succeeded",
        "operationTrigger": "User",
    }


@condition
def _whole(field: ResponseField) -> bool:
    """Whether all of an online endpoint is shown."""
    return field.occasion.phase is Phase.DONE or field.occasion.api_version < _BRIEF


@condition
def _ready(field: ResponseField) -> bool:
    """Whether a deployment is shown as it will be: the first api-versions waited for its end."""
    return field.occasion.phase is Phase.DONE or field.occasion.api_version >= _LATER


@computed
def _batch_scoring_uri(field: ResponseField) -> Data:
    # The service has a host for every endpoint. The SDK takes what stands before "/subscriptions/"
    # for the service's base URL, and an emulator has one host: a path at it stands for the host.
    occasion = field.occasion
    if occasion.address is None:
        return None
    return f"{occasion.call.request.base}{occasion.address.id(occasion.call.scope)}/jobs"


@computed
def _batch_identity(field: ResponseField) -> Data:
    """Where there are only identities of users, the principal of the endpoint's own is zeros."""
    if not isinstance(field.stored, Mapping) or field.stored.get("type") != "UserAssigned":
        return OMITTED if field.stored is None else field.stored
    nobody = {"principalId": str(UUID(int=0)), "tenantId": field.occasion.call.guid("tenant")}
    return {**field.stored, **nobody}


@computed
def _configuration(field: ResponseField) -> Data:
    # The SDK breaks on a pipeline's configuration without `settings` (KeyError).
    return {**field.stored, "settings": field.stored.get("settings", {})} if field.stored else None


@computed
def _with_operation(field: ResponseField) -> dict[str, Data]:
    """Free properties, with the address of the operation that wrote the resource last."""
    address, call, number = field.occasion.address, field.occasion.call, field.occasion.operation
    properties = dict(field.stored or {})
    if address is not None and number is not None:
        properties["AzureAsyncOperationUri"] = operation_url(call, address.kind, number)
    return properties


@computed
def _online_endpoint_properties(field: ResponseField) -> Data:
    address, scope = field.occasion.address, field.occasion.call.scope
    properties = {key: text for key, text in (field.stored or {}).items() if key != _ENDPOINT_ID}
    if _whole(field):
        properties[_ENDPOINT_ID] = (
            f"/subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
            f"/providers/{PROVIDER.lower()}/workspaces/{scope.workspace}"
            f"/onlineendpoints/{address.name if address else ''}"
        )
    return _with_operation(field._replace(stored=properties))


@computed
def _request_settings(field: ResponseField) -> Data:
    settings = {**_REQUESTS, **(field.stored or {})}
    if not _ready(field):
        settings["requestTimeout"] = (field.sent or {}).get("requestTimeout", "PT0S")
    return settings


@computed
def _online_uri(field: ResponseField) -> Data:
    """A URL of an endpoint: a path here, where Azure has a host."""
    address, call = field.occasion.address, field.occasion.call
    scope, path = call.scope, "score" if field.key == "scoringUri" else "swagger.json"
    place = f"{scope.subscription}/{scope.resource_group}/{scope.workspace}"
    return f"{call.request.base}/online/{place}/{address.name if address else ''}/{path}"


@computed
def _with_variables(field: ResponseField) -> Data:
    """Those of a deployment, with the variables of a script unless a request has said otherwise
    (recorded: online-deployment-get)."""
    properties = section(named("online-deployment-properties"))(field)
    code = properties.get("codeConfiguration") or {}
    if field.occasion.phase is not Phase.CREATING and code:
        variables = dict(_variables(field.occasion.call, properties.get("model"), code))
        properties["environmentVariables"] = variables | properties["environmentVariables"]
    return properties


def _variables(call: Call, model: Data, code: Mapping[str, Data]) -> Iterator[tuple[str, Data]]:
    root = "/var/azureml-app"
    if model:
        yield "AZUREML_MODEL_DIR", "/".join((root, "azureml-models", *str(model).split("/")[-3::2]))
    yield "AZUREML_ENTRY_SCRIPT", code.get("scoringScript")
    reference = Reference.parse(f"azureml:{code.get('codeId')}", "code")
    stored_code = call.peek(reference.address) if reference and reference.address else None
    uri = stored_code.body["properties"]["codeUri"] if stored_code else ""
    yield "AML_APP_ROOT", f"{root}/{uri.rstrip('/').rpartition('/')[2]}".rstrip("/")


def kind_of(job: Mapping[str, Data]) -> str:
    """Return the type by which the properties of a job are shown: its own, if it has a shape."""
    kind = str(job.get("jobType"))
    return kind if kind in _KINDS else _COMMAND


@computed
def _inputs(field: ResponseField) -> Data:
    """Inputs: a literal has a value, all others are mounted unless they say otherwise."""
    answer = {}
    for name, value in (field.stored or {}).items():
        is_literal = str(value.get("jobInputType")).casefold() == "literal"
        shape = named("literal-input" if is_literal else "input")
        answer[name] = render(shape, value, field.occasion)
    return answer


@computed
def _queue(field: ResponseField) -> Data:
    """A cluster's jobs have a tier of the name `Null`; earlier they had no queue settings."""
    stored = field.stored or {}
    if field.occasion.api_version < "2024":
        return {"jobTier": None, "priority": None, **stored} if stored else None
    return {**stored, "jobTier": stored.get("jobTier") or "Null"}


@computed
def _scheduled_queue(field: ResponseField) -> Data:
    return {"jobTier": "Null", "priority": None, **(field.stored or {})}


@computed
def _scheduled_job(field: ResponseField) -> Data:
    """The job of a schedule, completed as a job is. What it has of a run comes after creation."""
    job = field.stored
    if not isinstance(job, Mapping):
        return job
    shape = named(kind_of(job))
    overrides = {"tags, properties, parameters": "stored", "status": 'or "NotStarted"'}
    if job.get("jobType") == "Pipeline":
        overrides["services"] = "stored"
    elif job.get("queueSettings") is None:
        overrides |= {"services": "done | or {}", "queueSettings": "done | scheduled_queue"}
    else:
        overrides |= {"services": "or {}", "queueSettings": "scheduled_queue"}
    known = {key: rule for key, rule in shape_of(overrides).items() if key in shape}
    try:
        return render({**shape, **known}, job, field.occasion)
    except (AttributeError, TypeError):
        return job  # values of other types are taken unread, and shown as they are


@computed
def _schedule_state(field: ResponseField) -> Data:
    """A schedule that is written over is shown as `Creating`, too."""
    state = field.occasion.state
    return "Creating" if state == "Updating" else state


@computed
def _frequency(field: ResponseField) -> Data:
    """`Week`, in whatever letter case it was sent (recorded: schedule-put-recurrence-disable)."""
    if isinstance(field.stored, str):
        return field.stored.capitalize()
    return OMITTED if field.stored is None else field.stored


@computed
def _pattern(field: ResponseField) -> Data:
    """When a recurrence is due; null where it has neither hours nor minutes (azure-ai-ml's
    recording test_load_recurrence_schedule_no_pattern, February 2024)."""
    if field.stored is None:
        return OMITTED
    is_empty = isinstance(field.stored, Mapping) and not any(field.stored.values())
    return None if is_empty else section(named("recurrence-pattern"))(field)


@computed
def _companion_id(field: ResponseField) -> Data:
    """The id of a resource of another provider that a workspace was made with."""
    return companions(field.occasion.call.scope)[field.key]


@computed
def _workspace_name(field: ResponseField) -> Data:
    return field.occasion.call.scope.workspace


@computed
def _workspace_id(field: ResponseField) -> Data:
    return field.occasion.call.scope.id


@computed
def _base(field: ResponseField) -> Data:
    return field.occasion.call.request.base


@computed
def _tenant(_: ResponseField) -> Data:
    return TENANT


@computed
def _telemetry_key(field: ResponseField) -> Data:
    return field.occasion.call.guid("telemetry")


@computed
def _notebooks(field: ResponseField) -> Data:
    call = field.occasion.call
    guid, region = call.guid("workspace"), call.state.location
    name = re.sub(r"[^a-z0-9]", "", call.scope.workspace.casefold())
    return {
        "resourceId": guid.replace("-", ""),
        "fqdn": f"ml-{name}-{region}-{guid}.{region}.notebooks.azure.net",
        "isPrivateLinkEnabled": False,
        "notebookPreparationError": None,
    }


@condition
def _authored(field: ResponseField) -> bool:
    """Whether it is said who made a datastore: later versions do not, of what the service made."""
    address = field.occasion.address
    return not (address and address.name in OWN) or field.occasion.api_version < "2023"


@computed
def _account_name(field: ResponseField) -> Data:
    """The SDK makes `https://{accountName}.blob.core.windows.net` of it: an account name that is a
    host and a path leads the unmodified SDK to our own blobs, as Azurite's path-style URLs do."""
    address, call = field.occasion.address, field.occasion.call
    if address is None or address.name not in OWN:
        return OMITTED if field.stored is None else field.stored
    return f"{call.request.base.partition('://')[2]}/blob/{field.stored}"
