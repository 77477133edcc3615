"""The studio in a real browser, from the command to the screen: on a desk and on a phone."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import shell
from tests.builders.paths import LOW_PRIORITY

pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="there is no chromium on PATH"),
]
JOB = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch", "--files", "4000")
PATHS = [
    "",
    "clusters",
    "clusters/low-pri-cluster",
    "jobs",
    "endpoints",
    "plan",
    "happened",
    "cloud",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the low-priority sample, applied, and a job that is queued."""
    place = tmp_path_factory.mktemp("studio")
    shutil.copytree(LOW_PRIORITY, place / "sample")
    for words in (
        ("apply", "sample", "--yes"),
        (*JOB, "--seconds-per-file", "0.5", "--job-name", "<b>bold</b>"),
        (*JOB, "--seconds-per-file", "0.5", "--job-name", "scores"),
    ):
        done = shell.finish(shell.start(place, *words))
        assert (done.code == 0) is ("<b>bold</b>" not in words), done.err
    return place


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """The address that a running studio has printed."""
    process = shell.start(folder, "studio", "sample", "--no-browser", stdout=subprocess.PIPE)
    assert process.stdout is not None
    line = process.stdout.readline()
    yield line.rpartition(" ")[2].strip()
    process.send_signal(signal.SIGINT)
    done = shell.finish(process)
    assert done.code == 0, done.err
    assert not (folder / ".mlctl" / "studio.json").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page; what it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def test_time_is_moved_and_every_part_of_the_page_follows(page: Any, address: str) -> None:
    page.goto(f"{address}jobs")
    page.get_by_role("cell", name="Queued").wait_for()
    page.get_by_role("button", name="+15 min").click()
    page.get_by_role("cell", name="Running").or_(
        page.get_by_role("cell", name="Completed")
    ).wait_for()
    page.get_by_role("link", name="Overview").click()
    page.locator(".chart canvas").first.wait_for()
    page.get_by_role("button", name="Play").click()
    page.get_by_text("playing 60x").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("paused", exact=True).wait_for()


def test_a_job_that_the_command_line_makes_appears_by_itself(
    page: Any, address: str, folder: Path
) -> None:
    page.goto(f"{address}jobs")
    done = shell.finish(shell.start(folder, *JOB, "--job-name", "later", "--seconds-per-file", "1"))
    assert done.code == 0, done.err
    page.get_by_role("link", name="later").wait_for()
    done = shell.finish(shell.start(folder, "job", "show", "-n", "later", "--web"))
    assert f"the job's page: {address}jobs/later" in done.err
    page.goto(f"{address}jobs/later")
    page.get_by_role("heading", name="later").wait_for()


def test_a_plan_follows_the_files(page: Any, address: str, folder: Path) -> None:
    page.goto(f"{address}plan")
    page.get_by_text("No changes.").wait_for()
    file = folder / "sample" / "low-pri-cluster.yml"
    text = file.read_text()
    try:
        file.write_text(text.replace("max_instances: 2", "max_instances: 3"))
        page.get_by_text("max_instances").first.wait_for()
    finally:
        file.write_text(text)


def test_faults_are_set_and_cleared_by_the_keyboard_alone(page: Any, address: str) -> None:
    page.goto(f"{address}cloud")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    form = page.get_by_role("form", name="Service fault")
    form.get_by_label("Kind").focus()
    page.keyboard.type("throttle")
    page.keyboard.press("Enter")
    form.get_by_label("Times").focus()
    page.keyboard.press("Enter")
    page.get_by_role("rowheader", name="throttle").wait_for()
    clear = page.get_by_role("button", name="Clear fault")
    clear.focus()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.get_by_text("No faults are set.").wait_for()


def test_a_fault_of_the_wire_shows_the_fields_that_its_kind_has(page: Any, address: str) -> None:
    page.goto(f"{address}cloud")
    form = page.get_by_role("form", name="Network fault")
    shown = {}
    for kind in ("refuse", "hang-up", "slow", "truncate", "style"):
        form.get_by_label("Kind").select_option(kind)
        names = ("status", "retry_after", "seconds", "bytes", "style")
        shown[kind] = [name for name in names if form.locator(f"[name={name}]").is_visible()]
    assert shown == {
        "refuse": ["status", "retry_after", "seconds"],
        "hang-up": [],
        "slow": ["seconds"],
        "truncate": ["bytes"],
        "style": ["style"],
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_pages_fit_the_screen_and_can_be_told_apart_by_a_screen_reader(
    browser: Any, address: str, scheme: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    for path in PATHS:
        page.goto(address + path)
        seen = json.loads(page.evaluate(SEEN))
        assert seen["wide"] <= width, path
        assert seen["headings"] == 1, path
        assert seen["unnamed"] == [], path
        assert seen["current"] == 1, path
        assert seen["back"] == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
    context.close()


# What a page has: its width, headings, landmarks, and controls, tables and pictures without a name.
SEEN = """() => {
  const named = (each) => each.getAttribute("aria-label") || each.labels?.length
    || each.textContent.trim() || each.querySelector("caption")
  return JSON.stringify({
    wide: document.documentElement.scrollWidth,
    headings: document.querySelectorAll("main h1").length,
    current: document.querySelectorAll("nav [aria-current=page]").length,
    back: getComputedStyle(document.body).backgroundColor,
    unnamed: [...document.querySelectorAll(
      "button, input:not([type=hidden]), select, table, nav, [role=img], [role=region]")]
      .filter((each) => !named(each)).map((each) => each.outerHTML.slice(0, 80)),
  })
}"""


def test_another_page_of_the_web_can_neither_read_nor_change_it(
    browser: Any, address: str, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.html"
    evil.write_text(
        f"""<pre id="told"></pre><script>
        (async () => {{
          const told = []
          for (const init of [{{}}, {{method: "POST", body: "time=1h"}},
                              {{mode: "no-cors", method: "POST", body: "time=1h"}}])
            told.push(await fetch("{address}act/step", init)
              .then((answer) => answer.type + answer.status, () => "refused"))
          document.querySelector("#told").textContent = told.join(" ")
        }})()</script>"""
    )
    page = browser.new_page()
    page.goto(f"{address}happened")
    before = page.locator("#bar-facts").inner_text()
    page.goto(evil.as_uri())
    page.get_by_text("refused refused").wait_for()
    page.goto(f"{address}happened")
    assert page.locator("#bar-facts").inner_text() == before
    page.close()
