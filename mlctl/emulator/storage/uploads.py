"""Uploads, the files of jobs, datastores whose account is the emulator, and code from blobs."""

from __future__ import annotations

import hashlib
import re
import tempfile
from functools import lru_cache
from pathlib import Path, PurePosixPath

from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests import listing
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import views
from mlctl.emulator.storage import blobs
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import local_paths, service
from mlctl.simulator.control_plane.jobs import artifacts
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.resources import datastores as store_rules
from mlctl.simulator.control_plane.state.blob_store import ItemKind

RUN_FOLDER = "ExperimentRun/dcid.{run}"  # of the artifacts, in the store that is for them
NAMED_OUTPUTS = "azureml/{run}"  # of the named outputs, in the default store


def container(call: Call, name: str) -> str:
    """Return account and container of a workspace's default datastore; "" for others."""
    if name not in store_rules.OWN:
        return ""
    state = call.state
    return f"{store_rules.account(state)}/{store_rules.container(state, name)}"


def artifacts_folder(call: Call, run: str) -> str:
    """Return the container and folder of a run's outputs and logs."""
    return f"{container(call, store_rules.ARTIFACTS)}/{RUN_FOLDER.format(run=run)}"


def start_pending_upload(call: Call) -> Response:
    """POST startPendingUpload: a container of the emulator, with a signature to write into it."""
    container = call.guid(f"{call.kind}/{call.names['name']}/{call.names['version']}".casefold())
    return json_response(
        {
            "blobReferenceForConsumption": reference(
                call, f"{call.request.base}/{blobs.ROOT}/uploads/{container}"
            ),
            "pendingUploadId": container,
            "pendingUploadType": "None",  # whatever was asked for
        }
    )


def reference(call: Call, uri: str) -> dict[str, Data]:
    """Return the URL of a blob or a container, with a signature to read and write it."""
    provider = f"{call.scope.group}/providers/Microsoft.Storage"
    account = f"{provider}/storageAccounts/{store_rules.account(call.state)}"
    sas = f"{uri}?{blobs.sas(call.settings)}"
    return {
        "blobUri": uri,
        "storageAccountArmId": account,
        "credential": {"credentialType": "SAS", "sasUri": sas},
    }


def show_datastores(call: Call) -> Response:
    """GET of the datastores, newest first, or with `isDefault=true` of the default one."""
    stores = service.list_resources(call.handle, call.kind, None)
    stores.sort(key=lambda store: str(store.body["systemData"]["createdAt"]), reverse=True)
    is_default = {"true": True, "false": False}.get(
        call.request.query_value("isDefault").casefold()
    )
    if is_default is not None:
        stores = [store for store in stores if store.body["properties"]["isDefault"] is is_default]
    page = listing.paginate(call, enumerate(stores), lambda numbered: f"{numbered[0]:09}")
    bodies = (views.resource_body(call, store) for _, store in page.items)
    return listing.page_response(call, page, bodies)


def secrets(call: Call) -> Response:
    """POST listSecrets: a signature that expires where one is asked for, else a key.

    What users have written is not kept: of their datastores these are as made up as of the others.
    """
    store = service.require(call.handle, call.address)
    credentials = store.body["properties"].get("credentials") or {}
    kind = str(credentials.get("credentialsType", "None"))
    if call.data.get("expirableSecret") and kind == "AccountKey":
        return json_response({"secretsType": "Sas", "sasToken": blobs.account_sas(call.settings)})
    if kind not in store_rules.SECRETS:
        text = f"The datastore `{store.address.name}` has no secrets."
        raise Permanent("UserError", text)
    secret = blobs.sas(call.settings) if kind == "Sas" else blobs.account_key(call.settings)
    return json_response({"secretsType": kind, store_rules.SECRETS[kind]: secret})


def write_job_files(call: Call, job: JobRecord) -> list[str]:
    """Write the files that a job has so far as blobs; the names of its named outputs."""
    names: dict[str, None] = {}
    for path, text in artifacts.files_of(job):
        of_all, *inner = path.parts
        if of_all == artifacts.OUTPUTS:
            names[inner[0]] = None
        store, folder = (
            (store_rules.ARTIFACTS, RUN_FOLDER)
            if of_all == artifacts.ARTIFACTS
            else (store_rules.DEFAULT, NAMED_OUTPUTS)
        )
        blob_name = "/".join([folder.format(run=job.row.name), *inner])
        content = text.encode("utf-8", "surrogateescape")
        blobs.write_blob(call, container(call, store), blob_name, content)
    return list(names)


_STORED = re.compile(r"azureml://(?:.*/)?datastores/([^/]+)/paths/(.+)")
_ARTIFACT = re.compile(r"jobs/([^/]+)/artifacts(|/.+)")
_BLOB = re.compile(rf"https?://[^/]+/{blobs.ROOT}/([^/?]+)/([^/?]+)/([^?]*)")


def locate_files(call: Call, uri: str) -> Path | None:
    """Return a folder or file with what a URI names; None if nothing of it exists here.

    Blobs are written out once for each of their contents; else it is where a file said it is.
    """
    run = _ARTIFACT.fullmatch(local_paths.key(uri))
    kept_here = local_paths.find(call.store, uri) if run else None
    if kept_here is not None and kept_here.exists():
        return kept_here
    prefix = f"{artifacts_folder(call, run[1])}{run[2]}" if run else _prefix(call, uri)
    items = [] if prefix is None else list(call.blob_store.list(ItemKind.BLOB, prefix))
    if prefix is None or not items:
        return local_paths.find(call.store, uri)
    below = [item for item in items if item.name == prefix or item.name[len(prefix)] == "/"]
    marks = "".join(f"{item.name} {item.note['etag']}\n" for item in below)
    name = PurePosixPath(prefix).name
    root = Path(_root().name) / hashlib.sha256(marks.encode()).hexdigest()[:24] / name
    if not root.exists():
        for item in below:
            inner = PurePosixPath(item.name[len(prefix) :].lstrip("/"))
            if ".." in inner.parts:
                continue
            target = root / inner if item.name != prefix else root
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(call.blob_store.content(ItemKind.BLOB, item.name))
    return root


def _prefix(call: Call, uri: str) -> str | None:
    """Return the prefix of the names of the blobs that a URI names."""
    match = _STORED.fullmatch(uri)
    if match is not None:
        place = container(call, match[1])
        return f"{place}/{match[2]}".rstrip("/") if place else None
    match = _BLOB.match(uri)
    return "/".join(match.groups()).rstrip("/") if match else None


@lru_cache(maxsize=1)
def _root() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of a running emulator, which is removed with the program."""
    return tempfile.TemporaryDirectory(prefix="mlctl-emulator-")
