"""`finish` on the azure backend, against the emulator: killed, taken up elsewhere, nothing left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlctl.backends.ports.lease import Holder, LeaseLost
from mlctl.finishing.progress import Ending
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, Permanent
from tests.builders.azure import Azure
from tests.finishing.meeting import Meeting
from tests.finishing.test_controller import Killed
from tests.finishing.worlds import NAME, SURE, SURE_CPU


def test_a_job_is_finished_on_azure_and_leaves_nothing_behind(meeting: Meeting) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    assert controller.carry_out() is Ending.DONE
    assert [run.status for run in controller.progress.runs] == ["Completed"] * 3
    assert controller.progress.spent > 0
    assert not client.backend.read([SURE_CPU, SURE])
    assert client.backend.journals.names() == [NAME]


def test_another_machine_goes_on_after_a_kill(meeting: Meeting) -> None:
    first = meeting.controller(meeting.client())
    submit, numbers = first.cloud.submit, iter(range(9))

    def dying(*facts: Any) -> None:
        submit(*facts)
        if next(numbers) == 1:
            raise Killed

    first.cloud.submit = dying  # type: ignore[assignment, method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    client = meeting.client()
    second = meeting.controller(client)
    assert second.progress.under_way is not None
    assert second.carry_out() is Ending.DONE
    names = [job.name for job in client.backend.jobs.list()]
    assert sorted(names) == [NAME, f"{NAME}-2", f"{NAME}-3"]
    assert not client.backend.read([SURE_CPU, SURE])


def test_it_asks_no_more_than_twice_a_minute_while_it_waits(meeting: Meeting) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    watch, waits = controller.cloud.watch, list[tuple[int, float]]()

    def counted(*facts: Any) -> Any:
        before, since = len(client.asked), meeting.wall()
        look = watch(*facts)
        waits.append((len(client.asked) - before, meeting.wall() - since))
        return look

    controller.cloud.watch = counted  # type: ignore[assignment, method-assign]
    controller.carry_out()
    assert len(waits) == 3
    assert all(seconds > 60 for _, seconds in waits)
    assert all(asked <= seconds / 30 + 1 for asked, seconds in waits)


def test_no_run_is_read_again_when_all_are_done(meeting: Meeting) -> None:
    client = meeting.client()
    controller = meeting.controller(client)
    finish, since = controller._finish, list[int]()

    def marked(*facts: Any) -> None:
        since.append(len(client.asked))
        finish(*facts)

    controller._finish = marked  # type: ignore[assignment, method-assign]
    controller.carry_out()
    looks = [request for request in client.asked[since[0] :] if request.startswith(f"GET {NAME}")]
    assert {*looks} <= {f"GET {NAME}.jsonl"}


def test_a_broken_lease_ends_a_controller_on_azure_too(meeting: Meeting) -> None:
    client = meeting.client()
    leases = client.backend.leases
    lease = leases.acquire("finish/forecast", Holder("a", 1, "mlctl finish"))
    controller = meeting.controller(client, client.backend.under(lease))
    assert meeting.client().backend.leases.break_(lease)
    with pytest.raises(LeaseLost):
        controller.carry_out()
    assert not client.backend.jobs.list()


FOLDER = "mlctl-finish/forecast"


@pytest.fixture
def sent(meeting: Meeting, tmp_path: Path) -> Meeting:
    """The same job, with files in a local folder: two in the first shard, one in the others."""
    names = ["a/f1.txt", "f2.txt", "f3.txt", "f4.txt"]
    (tmp_path / "images" / "a").mkdir(parents=True)
    for name in names:
        (tmp_path / "images" / name).write_text(name)
    base = f"azureml://datastores/workspaceblobstore/paths/{FOLDER}"
    folders = tuple(f"{base}/shard-000{number}" for number in (1, 2, 3))
    meeting.order(files=tuple(names), sizes=(2, 1, 1), folders=folders, upload=FOLDER)
    meeting.order(source=str(tmp_path / "images"))
    return meeting


def stored(client: Azure) -> dict[str, str]:
    """The files that are in the workspace's storage for the job, with their texts."""
    container = client.backend.folders._container("workspaceblobstore")
    names = [blob.name for blob in container.list_blobs(name_starts_with=FOLDER)]
    return {name: container.download_blob(name).readall().decode() for name in names}


def test_each_run_reads_a_folder_with_the_files_of_its_shard(sent: Meeting) -> None:
    client = sent.client()
    controller = sent.controller(client)
    submit, seen = controller.cloud.submit, []

    def noted(*facts: Any) -> None:
        submit(*facts)
        seen.append(stored(client))

    controller.cloud.submit = noted  # type: ignore[assignment, method-assign]
    assert controller.carry_out() is Ending.DONE
    shards = ["shard-0001/a/f1.txt", "shard-0001/f2.txt", "shard-0002/f3.txt", "shard-0003/f4.txt"]
    texts = ["a/f1.txt", "f2.txt", "f3.txt", "f4.txt"]
    assert seen == [{f"{FOLDER}/{at}": text for at, text in zip(shards, texts, strict=True)}] * 3
    bodies = [json.loads(one.body) for one in client.transport.seen if one.path.endswith("/jobs")]
    uris = [body["properties"]["inputData"]["images"]["uri"] for body in bodies[:3]]
    assert [uri.rpartition("/")[2] for uri in uris] == ["shard-0001", "shard-0002", "shard-0003"]
    assert not stored(client)


def test_files_that_were_sent_need_not_be_on_the_machine_that_goes_on(sent: Meeting) -> None:
    client = sent.client()
    first = sent.controller(client)
    submit = first.cloud.submit

    def dying(*facts: Any) -> None:
        submit(*facts)
        raise Killed

    first.cloud.submit = dying  # type: ignore[assignment, method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    sent.order(source="/another/machine")
    sends = [one.path for one in client.transport.seen if "shard-0" in one.path]
    assert len(sends) == 4
    assert sent.controller(sent.client()).carry_out() is Ending.DONE
    assert not stored(client)


def test_files_that_were_sent_are_removed_when_the_job_is_cancelled(sent: Meeting) -> None:
    client = sent.client()
    first = sent.controller(client)
    first.cloud.submit = lambda *_: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]
    with pytest.raises(Killed):
        first.carry_out()
    assert len(stored(client)) == 4
    assert sent.controller(sent.client()).cancel() is Ending.CANCELLED
    assert not stored(client)


def test_a_stored_folder_is_listed_by_each_of_its_names(sent: Meeting) -> None:
    client = sent.client()
    folders = client.backend.folders
    root = Path(sent.progress().order.source)
    folders.write("images", {"a/1.txt": root / "f3.txt", "b/2.txt": root / "f2.txt"})
    uri = "azureml://datastores/workspaceblobstore/paths/images/"
    assert folders.files(uri) == {"a/1.txt": 6, "b/2.txt": 6}
    data = {"properties": {"dataType": "uri_folder", "dataUri": uri}}
    client.backend.put(Address("data", "images", None, "1"), data).wait()
    for text in ("azureml:images:1", "azureml:images@latest"):
        assert [*folders.files(folders.locate(text))] == ["a/1.txt", "b/2.txt"]
    with pytest.raises(NotFound, match="no data asset `azureml:other:1`"):
        folders.locate("azureml:other:1")
    with pytest.raises(Permanent, match="cannot list its files"):
        folders.files("https://elsewhere.blob.core.windows.net/c/images")
