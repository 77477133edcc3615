"""Plans that are too long for a comment of a pull request: cut so that what is left is whole."""

from __future__ import annotations

import importlib.util
import runpy
from types import ModuleType

import pytest

from tests.builders.paths import ROOT

NOTE = "[whole](https://example.com/run)"
TABLE = "### mlctl plan: 2 to add\n\n| resource |\n|---|\n| `compute/é` |"


@pytest.fixture(scope="module")
def reports() -> ModuleType:
    """The module of the scripts in samples/ci that writes Markdown."""
    file = ROOT / "samples" / "ci" / "mlctl_ci" / "reports.py"
    spec = importlib.util.spec_from_file_location("ci_reports", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folded(lines: str) -> str:
    return f"<details><summary>The whole plan</summary>\n\n````diff\n{lines}\n````\n\n</details>"


def test_what_fits_stays_as_it_is(reports: ModuleType) -> None:
    text = f"{TABLE}\n\n{folded('+ a')}"
    assert reports.cut(text, 1000, NOTE) == f"{text}\n\n{NOTE}"


def test_the_plan_that_is_folded_in_goes_first_and_all_tables_stay(reports: ModuleType) -> None:
    long = folded("```\n</details>\n" + "+ a: b\n" * 500)
    text = f"## dev\n{TABLE}\n\n{long}\n## prod\n{TABLE}\n\n{long}"
    found = reports.cut(text, 1000, NOTE)
    assert (found.count(TABLE), "+ a" in found, "details" in found) == (2, False, False)
    assert found.endswith(f"Too long for a comment: it is cut. {NOTE}")


@pytest.mark.parametrize("most", [200, 300, 999, 5000])
def test_no_cut_is_longer_than_the_host_takes(reports: ModuleType, most: int) -> None:
    rows = "\n".join(f"| `compute/é{number}` |" for number in range(1000))
    found = reports.cut(f"{TABLE}\n{rows}", most, NOTE)
    assert len(found.encode()) <= most
    assert found.startswith("### mlctl plan: 2 to add\n")
    assert all(line.endswith("|") for line in found.split("\n\n")[1].splitlines())


def test_a_log_is_text_whatever_is_in_it_and_is_closed_when_cut(reports: ModuleType) -> None:
    text = reports.failure("mlctl plan: failed", "</pre><b> ``` & $(x)\n" + "line\n" * 150)
    assert "&lt;/pre>&lt;b> ``` &amp; $(x)\n" in text.replace("&gt;", ">")
    found = reports.cut(text, 400, NOTE)
    assert found.count("<pre>") == found.count("</pre>") == 1


LOG = """\
== dev ==
local backend (.mlctl/local.db), workspace local/ml-dev
compute/cpu-dev: Creation complete after 5s
== dev: exit code 0 ==
== prod ==
ERROR: Saved plan is stale. These have changed since the plan was made:
  compute/cpu-prod
== prod: exit code 4 ==
== last ==
Not started, because prod has failed.
== last: exit code 0 ==
"""


def test_what_happened_is_told_of_each_environment_with_the_resource_first(
    reports: ModuleType,
) -> None:
    words = {0: "done", 4: "the workspace has changed"}.get
    assert [*reports.environments(LOG, words)] == [
        "- **dev**: done.",
        "- **prod**: `compute/cpu-prod`: the workspace has changed. Nothing was written here.",
        "- **last**: not started.",
    ]


def test_where_a_check_failed_no_environment_was_begun(reports: ModuleType) -> None:
    log = LOG.split("== last ==", maxsplit=1)[0] + "Nothing was started in any environment.\n"
    first, second, last = reports.environments(log, {4: "stale"}.get)
    assert first == "- **dev**: not started."
    assert second == "- **prod**: `compute/cpu-prod`: stale."
    assert "nothing was written anywhere" in last


def test_no_two_jobs_share_an_artifact_or_a_comment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts = ROOT / "samples" / "ci" / "mlctl_ci"
    monkeypatch.syspath_prepend(scripts)
    job = runpy.run_path(str(scripts / "__main__.py"), run_name="ci_main")["Job"]
    paths = ("infra", "infra-a", "infra/a", "infra\na", "infra a", "./infra", ".", "..")
    settings = [(path, env) for path in paths for env in ("", "a", "a,b", "a-b")]
    jobs = [job.of({"MLCTL_CI_PATH": path, "MLCTL_ENV": env}) for path, env in settings]
    names = [one.name for one in jobs]
    assert len({*names}) == len({one.marker("plan") for one in jobs}) == len(jobs)
    assert all(name.replace("-", "").isalnum() for name in names)
    assert names[0] == "mlctl-plan-infra"
