"""Files that jobs leave, as blobs of the workspace's stores."""

from __future__ import annotations

from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.simulator.control_plane.jobs import artifacts
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.resources import datastores

NAMED = "azureml/{run}"  # of the named outputs, in the default store


def write(call: Call, job: JobRecord) -> list[str]:
    """Write the files that a job has so far as blobs; the names of its named outputs."""
    names: dict[str, None] = {}
    for path, text in artifacts.files_of(job):
        of_all, *inner = path.parts
        if of_all == artifacts.OUTPUTS:
            names[inner[0]] = None
        store, folder = (
            (datastores.ARTIFACTS, uploads.RUN_FOLDER)
            if of_all == artifacts.ARTIFACTS
            else (datastores.DEFAULT, NAMED)
        )
        blob_name = "/".join([folder.format(run=job.row.name), *inner])
        content = text.encode("utf-8", "surrogateescape")
        blobs.write_blob(call, uploads.container(call, store), blob_name, content)
    return list(names)
