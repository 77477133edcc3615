"""The SDK and we on one workspace: what one makes of a file, the other finds as declared.

As `tests/end_to_end/test_interop_emulator.py`, but with every word of ours going over the wire.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import yaml

from mlctl.applying import executor
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address
from mlctl.planning import planner as planning
from mlctl.planning.refresh import refresh
from mlctl.planning.steps import work as steps
from mlctl.pointer import Data
from mlctl.workflow.model import Planned
from tests.builders.azure import Azure, azure
from tests.builders.paths import SAMPLES
from tests.builders.sdk import TRANSPORTS, Sdk, lead_here
from tests.end_to_end.test_interop_emulator import (
    SCOPE,
    TODAY,
    cases,
    created,
    fields,
    is_local,
    loaded,
    make,
    parts,
    read_back,
    references_of,
    roomy,
    satisfied,
)
from tests.end_to_end.test_interop_emulator import changes as planned_locally

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
_numbers = count()


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session of `requests` finds the emulators, also those that the SDK makes by itself."""
    lead_here(monkeypatch)


def ours(here: Sdk) -> Azure:
    """Our client of the SDK's workspace."""
    base = f"https://ours-{next(_numbers)}.test"
    client = azure(here.world.emulator, SCOPE, base=base)
    TRANSPORTS[base] = client.transport
    return client


def planned(client: Azure, *files: Path) -> Planned:
    """The plan of files; nothing may be wrong with them."""
    report = Report()
    found = Loader(report, TODAY, scope=SCOPE, planning=True).load([str(file) for file in files])
    assert not report.failed, [each.message for each in report]
    made = planning.plan(found.graph, refresh(found.graph, client.backend), backend="azure")
    return Planned(made, found.graph)


def changes(here: Sdk, *files: Path) -> list[str]:
    """What a plan of the files would change in the workspace."""
    return [f"{one.action.name} {one.address}" for one in planned(ours(here), *files).plan.pending]


def applied(here: Sdk, *files: Path) -> None:
    """The files, applied by us; the plan after that is empty."""
    client = ours(here)
    work: steps.Work = planned(client, *files).work
    events = list(executor.apply(work, client.backend, parallelism=4, stop=threading.Event()))
    assert [f"{one.error} {one.error.details}" for one in events if one.error] == []
    assert changes(here, *files) == []


def told(capsys: pytest.CaptureFixture[str], what: str, score: Counter[str]) -> None:
    """Print a score beside the dots."""
    with capsys.disabled():
        kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(score.items()))
        print(f"\n{what}: {sum(score.values())} files ({kinds})", end=" ")


@pytest.mark.parametrize("folder", ["clusters", "low-priority-batch", "pipeline-batch"])
def test_what_the_sdk_makes_of_a_sample_needs_no_change(folder: str) -> None:
    here = roomy()
    for kind, file in parts(SAMPLES / folder):
        entity = loaded(kind, file)
        if kind == "batchEndpoint":
            entity.defaults = None  # there is no deployment yet that could be the default one
        created(here, kind, entity)
    for kind, file in parts(SAMPLES / folder):
        if kind == "batchEndpoint":
            created(here, kind, loaded(kind, file))
    assert changes(here, *(file for _, file in parts(SAMPLES / folder))) == []


@pytest.mark.parametrize("folder", ["clusters", "low-priority-batch", "pipeline-batch"])
def test_the_sdk_reads_back_what_was_applied(folder: str) -> None:
    here = roomy()
    applied(here, *(file for _, file in parts(SAMPLES / folder)))
    for kind, file in parts(SAMPLES / folder):
        said = fields(loaded(kind, file))
        assert said.items() <= fields(read_back(here, kind, loaded(kind, file))).items()


def pipeline(folder: Path) -> tuple[Path, Path]:
    """A copy of the sample with a pipeline: its deployment, and the code of its steps."""
    copy = Path(shutil.copytree(SAMPLES / "pipeline-batch", folder / "copy"))
    return copy / "deployment.yml", copy / "pipeline" / "src" / "total.py"


def deployed(here: Sdk, file: Path) -> None:
    """The deployment, made or made again by the SDK."""
    make(here.world, Address("compute", "pipeline-cluster"))
    make(here.world, Address("batch-endpoint", "word-count-batch"))
    created(here, "pipeline", loaded("pipeline", file))


def components(here: Sdk) -> set[str]:
    """The versions that the SDK finds of components that nobody has named."""
    found = here.ml.components.list("azureml_anonymous")
    return {one.version for one in found}


def test_a_pipeline_whose_file_or_code_has_changed_since_is_a_change(tmp_path: Path) -> None:
    here, (file, code) = roomy(), pipeline(tmp_path)
    deployed(here, file)
    assert changes(here, file) == []
    kept = code.read_text()
    code.write_text("print()\n")
    found = [one.split("/")[0] for one in changes(here, file)]
    made = [*["CREATE code"], *["CREATE component"] * 3, "UPDATE batch-deployment"]
    assert sorted(found) == sorted(made)
    code.write_text(kept)
    assert changes(here, file) == []


def test_looking_for_the_component_of_a_file_writes_nothing(tmp_path: Path) -> None:
    here, (file, code) = roomy(), pipeline(tmp_path)
    deployed(here, file)
    for text in (code.read_text(), "print()\n"):
        code.write_text(text)
        client = ours(here)
        planned(client, file)
        assert {one.method for one in client.transport.seen} == {"GET"}


def test_the_sdk_makes_no_component_again_that_was_applied(tmp_path: Path) -> None:
    here, (file, _) = roomy(), pipeline(tmp_path)
    folder = file.parent
    applied(here, *(one for _, one in parts(folder)))
    before = components(here)
    deployed(here, file)
    assert components(here) == before
    assert changes(here, file) == []


def sized_otherwise(file: Path) -> bool:
    """A cluster without a number of nodes, of which older SDKs (1.28.1) make 1 and newer ones 4."""
    from azure.ai.ml.entities import AmlCompute

    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    return "max_instances" not in data and AmlCompute(name="c").max_instances != 4


def named_otherwise(file: Path) -> bool:
    """A pipeline in a local file: the SDK goes by the name in it, the planner by its content."""
    return is_local(yaml.safe_load(file.read_text(encoding="utf-8")).get("component"))


def test_what_the_sdk_makes_of_real_files_needs_no_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not cases():
        pytest.skip("no ../shared/corpus beside the checkout")
    equal: Counter[str] = Counter()
    wrong = []
    for number, case in enumerate(cases()):
        here = roomy()
        file = satisfied(case, here.world, tmp_path / str(number))
        created(here, case.kind, loaded(case.kind, file))
        left = changes(here, file)
        equal[case.kind] += not left
        left += [] if named_otherwise(file) else planned_locally(here, file)
        wrong += [f"{case}: {left}"] if left and not sized_otherwise(file) else []
    told(capsys, f"made by the SDK, no change needed, of {len(cases())}", equal)
    assert not wrong, "\n".join(wrong)


def test_the_sdk_reads_back_real_files_that_were_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not cases():
        pytest.skip("no ../shared/corpus beside the checkout")
    equal: Counter[str] = Counter()
    wrong = []
    for number, case in enumerate(cases()):
        here = roomy()
        file = satisfied(case, here.world, tmp_path / str(number))
        applied(here, file)
        entity = loaded(case.kind, file)
        said, got = fields(entity), fields(read_back(here, case.kind, entity))
        left = {name: (held, got.get(name)) for name, held in said.items() if got.get(name) != held}
        equal[case.kind] += not left
        wrong += [f"{case}: {left}"] if left and not sized_otherwise(file) else []
    told(capsys, f"applied by us, read back equal by the SDK, of {len(cases())}", equal)
    assert not wrong, "\n".join(wrong)


INLINE: dict[str, dict[str, Data]] = {
    "an environment": {"environment": {"image": "busybox"}},
    "a named environment": {"environment": {"name": "e", "image": "busybox"}},
    "a version of an environment": {"environment": {"name": "e", "version": 4, "image": "busybox"}},
    "a conda file": {"environment": {"image": "busybox", "conda_file": "./conda.yml"}},
    "a model": {"model": {"path": "./model"}},
    "a model of one file": {"model": {"path": "./model/weights.bin"}},
    "a named model": {"model": {"name": "m", "path": "./model"}},
    "a version of a model": {"model": {"name": "m", "version": 3, "path": "./model"}},
    "code without a dot": {"code_configuration": {"code": "src", "scoring_script": "score.py"}},
}


def inline(folder: Path, here: Sdk, said: dict[str, Data]) -> Path:
    """A deployment with something inline, beside what it can name."""
    for name, text in {
        "conda.yml": "name: e\nchannels: [conda-forge]\ndependencies: [python=3.10]\n",
        "model/weights.bin": "weights",
        "src/score.py": "def init(): ...\ndef run(b): return b\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    data = {
        "$schema": "https://azuremlschemas.azureedge.net/latest/batchDeployment.schema.json",
        "name": "blue",
        "endpoint_name": "heart-batch",
        "compute": "azureml:cpu-cluster",
        "model": "azureml:heart:1",
        "environment": "azureml:sklearn:1",
        "code_configuration": {"code": "./src", "scoring_script": "score.py"},
        **said,
    }
    for one in references_of(data):
        make(here.world, one)
    (folder / "blue.yml").write_text(yaml.safe_dump(data))
    return folder / "blue.yml"


@pytest.mark.parametrize("said", INLINE.values(), ids=INLINE)
def test_what_the_sdk_makes_of_something_inline_needs_no_change(
    tmp_path: Path, said: dict[str, Data]
) -> None:
    here = roomy()
    file = inline(tmp_path, here, said)
    created(here, "batchDeployment", loaded("batchDeployment", file))
    assert changes(here, file) == []


@pytest.mark.parametrize("said", INLINE.values(), ids=INLINE)
def test_what_was_applied_needs_no_change_after_the_sdk_has_made_it_again(
    tmp_path: Path, said: dict[str, Data]
) -> None:
    here = roomy()
    file = inline(tmp_path, here, said)
    applied(here, file)
    created(here, "batchDeployment", loaded("batchDeployment", file))
    assert changes(here, file) == []


def test_a_pipeline_of_a_job_is_made_once_by_either_of_us_and_again_of_another_job(
    tmp_path: Path,
) -> None:
    file = tmp_path / "from-job.yml"
    text = "name: blue\nendpoint_name: heart-batch\ntype: pipeline\njob_definition: azureml:{}\n"
    orders: list[list[Callable[[Sdk, Path], None]]] = [[deployed], [applied], [applied, deployed]]
    for order in orders:
        here = roomy()
        make(here.world, Address("batch-endpoint", "heart-batch"))
        file.write_text(text.format("one"))
        for make_it in order:
            make_it(here, file)
        assert changes(here, file) == []
        file.write_text(text.format("two"))
        assert sorted(one.split()[0] for one in changes(here, file)) == ["CREATE", "UPDATE"]
