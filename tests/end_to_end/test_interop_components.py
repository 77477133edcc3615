"""The SDK and we on the components of one workspace: the same bodies, the same names."""

from __future__ import annotations

import csv
import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlctl.applying import executor
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from tests.builders.paths import SHARED
from tests.builders.sdk import Sdk, lead_here
from tests.end_to_end.test_interop_azure import changes, ours, planned, told
from tests.end_to_end.test_interop_emulator import SCOPE, make, roomy

CORPUS = SHARED / "corpus-kinds"
SORTS = Path(__file__).parents[1] / "data" / "components"
# What the service says in other words (recorded: component-put-create), and where we differ.
_SERVICES_OWN = ("isAnonymous", "isArchived")
_SOURCES = ("YAML.JOB", "YAML.COMPONENT")  # the service drops `_source`

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    lead_here(monkeypatch)


def load(file: Path, **more: Data) -> Any:
    from azure.ai.ml import load_component

    return load_component(file, params_override=[{key: held} for key, held in more.items()])


def puts(seen: list[Any]) -> dict[str, Data]:
    """The bodies of the components that were written, by name and version."""
    return {
        one.path.split("/components/")[1]: json.loads(one.body)["properties"]
        for one in seen
        if one.method == "PUT" and "/components/" in one.path
    }


def applied(here: Sdk, file: Path) -> dict[str, Data]:
    """The bodies by which we make what a file declares; planned again, it is as declared."""
    client = ours(here)
    work = planned(client, file).work
    events = list(executor.apply(work, client.backend, parallelism=1, stop=threading.Event()))
    assert [f"{one.error} {one.error.details}" for one in events if one.error] == []
    assert changes(here, file) == []
    return puts(client.transport.seen)


def created(here: Sdk, file: Path) -> dict[str, Data]:
    """The bodies by which the SDK makes it."""
    before = len(here.transport.seen)
    here.ml.components.create_or_update(load(file))
    return puts(here.transport.seen[before:])


def told_alike(body: Data) -> Data:
    """A body without what the service does not keep."""
    kept = {key: held for key, held in body.items() if key not in _SERVICES_OWN}
    kept = {key: held for key, held in kept.items() if held not in (None, {})}
    spec = {key: held for key, held in body["componentSpec"].items() if key != "_source"}
    return {**kept, "componentSpec": spec}


def sorts(here: Sdk) -> Path:
    """A pipeline with steps of every sort, in a workspace with what they name."""
    make(here.world, Address("environment", "e", None, "1"))
    make(here.world, Address("compute", "cpu"))
    data = {"dataType": "mltable", "dataUri": "azureml://datastores/workspaceblobstore/paths/t/"}
    here.world.made(Address("data", "thedata", None, "1").id(SCOPE), {"properties": data})
    here.ml.components.create_or_update(load(SORTS / "train.yml", name="reg", version="1"))
    return SORTS / "outer.yml"


def test_steps_of_every_sort_are_sent_as_the_sdk_sends_them() -> None:
    here = roomy()
    file = sorts(here)
    mine = applied(here, file)
    theirs = created(here, file)
    assert mine.keys() == theirs.keys()
    assert len(mine) == 6  # the versions are hashes: one for each step that names none
    for name, body in theirs.items():
        assert told_alike(mine[name]) == told_alike(body), name


def test_steps_of_every_sort_that_the_sdk_made_need_no_change() -> None:
    here = roomy()
    file = sorts(here)
    created(here, file)
    assert changes(here, file) == []


def cases() -> list[Path]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    with index.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    accepted = [one for one in rows if (one["kind"], one["verdict"]) == ("component", "accept")]
    return [Path(one["file"]) for one in accepted]


def parts(file: Path) -> Iterator[tuple[Path, Data]]:
    """A file, and the files of components that its steps name."""
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    yield file, data
    for step in (data.get("jobs") or {}).values():
        named = str(step.get("component", "azureml:"))
        if not named.startswith("azureml:") and (file.parent / named).is_file():
            yield from parts(file.parent / named)


def whole(file: Path) -> bool:
    """Whether all components that it names are there; makes the code and packages that are not."""
    for part, data in list(parts(file)):
        for one in (data, *(data.get("jobs") or {}).values()):
            code, environment = one.get("code"), one.get("environment")
            if isinstance(code, str) and not (part.parent / code).exists():
                (part.parent / code).mkdir(parents=True)
                (part.parent / code / "main.py").write_text("print()\n")
            if isinstance(environment, dict) and "conda_file" in environment:
                conda = part.parent / environment["conda_file"]
                conda.parent.mkdir(parents=True, exist_ok=True)
                conda.write_text("dependencies: [python=3.10]\n")
            named = str(one.get("component", "azureml:"))
            if not named.startswith("azureml:") and not (part.parent / named).is_file():
                return False
    return True


def furnished(file: Path) -> Sdk:
    """A workspace with the environments that a file names."""
    here = roomy()
    for _, data in parts(file):
        named = str(data.get("environment"))
        if named.startswith("azureml:") and not named.startswith(("azureml:/", "azureml:AzureML-")):
            name, _, version = named.removeprefix("azureml:").partition("@")[0].partition(":")
            make(here.world, Address("environment", name, None, version or "1"))
    return here


def test_real_components_are_sent_as_the_sdk_sends_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not cases():
        pytest.skip("no ../shared/corpus-kinds beside the checkout")
    shutil.copytree(CORPUS / "cli", tmp_path / "cli")
    score: Counter[str] = Counter()
    wrong = []
    for case in cases():
        file = tmp_path / case
        if not whole(file):
            score["with files missing"] += 1
            continue
        here = furnished(file)
        mine = applied(here, file)
        theirs = created(here, file)
        got = here.ml.components.get(load(file).name)
        read = texts(got) == texts(load(file))
        score["read back"] += read
        wrong += [] if read else [f"{case}: {texts(got)} {texts(load(file))}"]
        # Of a file without a version, the second one gets the next.
        said, sent = (
            sorted(json.dumps(told_alike(one), sort_keys=True) for one in bodies.values())
            for bodies in (mine, theirs)
        )
        same = said == sent
        score["same bodies"] += same
        wrong += [] if same else [f"{case}: other bodies"]
        other = furnished(file)
        created(other, file)
        left = changes(other, file)
        score["made by the SDK, no change"] += not left
        wrong += [f"{case}: {left}"] if left else []
    told(capsys, f"components, of {len(cases())}", score)
    assert not wrong, "\n".join(wrong)


def texts(component: Any) -> Data:
    """What a component says, its values as texts, without what is resolved or added."""
    told = component._to_dict()
    own = ("code", "environment", "task", "jobs", "version", "id", "creation_context", "resources")
    count = (told.get("resources") or {}).get("instance_count") or 1
    return {
        "instances": str(count),
        **{key: plain(held) for key, held in told.items() if key not in own and held is not None},
    }


def plain(value: Data) -> Data:
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    return str(value)
