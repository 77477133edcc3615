"""Options, fixtures and settings of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.run import run
from tests.builders import processor_time, shell
from tests.builders.azurite import Azurite, running
from tests.builders.paths import LOW_PRIORITY
from tests.builders.processor_time import ProcessorTime
from tests.builders.served import Served, serving
from tests.builders.shell import Run
from tests.builders.workspace import SCOPE

# A law that fails elsewhere must fail here too: nothing is random, nothing is kept between runs.
# Making a failing example small takes minutes; that is for those who look for its cause.
settings.register_profile(
    "check",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=processor_time.EXAMPLES,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("ci", parent=settings.get_profile("check"), max_examples=100)
# `pytest tests/properties --hypothesis-profile=search`: other examples every time, many, and small.
settings.register_profile(
    "search",
    parent=settings.get_profile("check"),
    derandomize=False,
    max_examples=2000,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
settings.load_profile("ci" if os.environ.get("CI") else "check")

# Ten thousand collected tests stay: to look through them for garbage took half of the collection.
gc.set_threshold(100_000, 20, 100)

# Started in the background, Python ignores SIGINT, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-cases` writes what the cases give now; the review happens in the diff."""
    parser.addoption("--update-cases", action="store_true", help="rewrite every expected.txt")
    parser.addoption("--processor-times", metavar="FILE", help="write what each test takes to FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Hold tests to the mark `slow`, and laws to the same examples in every run."""
    if config.getoption("--hypothesis-profile", None) != "search":
        # Else examples depend on the constants of all modules that a worker has loaded by then.
        providers._get_local_constants = lambda: providers._local_constants
    config.pluginmanager.register(ProcessorTime(config.getoption("--processor-times")))


def pytest_collection_finish() -> None:
    """Look no more through what was collected."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own for every test and process, in place of that of the person who runs it."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        shell.at_home(folder, patch)
        yield folder


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """Azurite, where there is one; its clock is moved by tests."""
    with running(tmp_path_factory.mktemp("azurite")) as found:
        yield found


@pytest.fixture
def local() -> Iterator[LocalBackend]:
    """An empty simulated workspace in memory."""
    backend = LocalBackend(":memory:", SCOPE)
    yield backend
    backend.close()


@pytest.fixture
def mlctl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run a command in `tmp_path`, inside this process."""
    return shell.inside(tmp_path, monkeypatch, capsys)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the low-priority sample, as `sample/` in `tmp_path`."""
    shutil.copytree(LOW_PRIORITY, tmp_path / "sample")
    return tmp_path / "sample"


@pytest.fixture(scope="session")
def applied_cloud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local workspace in which the low-priority sample was applied, as its file."""
    folder = tmp_path_factory.mktemp("applied")
    with pytest.MonkeyPatch.context() as patch:
        shell.at_home(folder, patch)
        patch.chdir(folder)
        shutil.copytree(LOW_PRIORITY, folder / "sample")
        assert run(["apply", "sample", "--yes", "--only-show-errors"]) == 0
    return folder / ".mlctl" / "local.db"


@pytest.fixture
def applied(mlctl: Run, sample: Path, applied_cloud: Path) -> Run:
    """mlctl in a folder with the low-priority sample as `sample/`, which is applied."""
    (sample.parent / ".mlctl").mkdir()
    shutil.copy(applied_cloud, sample.parent / ".mlctl")
    return mlctl


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An emulator of its own process, behind TLS; each test works in a workspace of its own."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    """An emulator for one test."""
    with serving(tmp_path) as found:
        yield found
