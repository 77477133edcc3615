"""The pages of HTML in a real browser: on a desk and on a phone, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from mlctl.render.page import html as page
from tests.render.page.test_html import whole

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="there is no chromium on PATH"),
]

LONG = "batch-deployment/heart-classifier-batch/classifier-xgboost on compute/low-pri-cluster " * 3
# A frame as wide as a screen, measured by the page around it: ours runs no script.
MEASURE = """<!doctype html><iframe style="border:0;width:{width}px;height:900px"
 srcdoc="{page}"></iframe><pre id="told"></pre><script>
const frame = document.querySelector("iframe")
frame.onload = () => {{
  const inside = frame.contentDocument
  const box = (one) => one.getBoundingClientRect()
  const marks = [...inside.querySelectorAll("rect, circle")]
  document.querySelector("#told").textContent = JSON.stringify({{
    width: inside.documentElement.scrollWidth,
    back: frame.contentWindow.getComputedStyle(inside.body).backgroundColor,
    fill: frame.contentWindow.getComputedStyle(inside.querySelector("rect")).fill,
    flat: marks.filter((one) => box(one).height < 4).length,
    drawn: marks.filter((one) => box(one).width > 1).length,
    far: marks.filter((one) => box(one).right > {width} + 1).length,
    small: Math.min(...[...inside.querySelectorAll("p, span, td, th")]
      .map((one) => parseFloat(frame.contentWindow.getComputedStyle(one).fontSize))),
  }})
}}
</script>"""


def seen(folder: Path, text: str, width: int, *flags: str) -> dict[str, Any]:
    """What a browser makes of a page on a screen of this width."""
    file = folder / "measure.html"
    file.write_text(MEASURE.format(width=width, page=escape(text)), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *flags]
    own = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run(
        [*command, *own, file.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    told = re.search(r'<pre id="told">(.+?)</pre>', done.stdout)
    assert told is not None, done.stderr
    found: dict[str, Any] = json.loads(unescape(told[1]))
    return found


@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_fits_the_screen_and_can_be_read(tmp_path: Path, width: int) -> None:
    found = seen(tmp_path, page.document(whole(LONG)), width)
    assert found["width"] <= width
    assert found["small"] >= 12
    assert found["drawn"] >= 8
    assert (found["flat"], found["far"]) == (0, 0)
    assert found["back"] == "rgb(255, 255, 255)"


def test_a_page_is_dark_on_a_dark_screen(tmp_path: Path) -> None:
    light = seen(tmp_path, page.document(whole()), 800)
    dark = seen(tmp_path, page.document(whole()), 800, "--force-dark-mode")
    assert dark["back"] == "rgb(13, 17, 23)"
    assert dark["fill"] != light["fill"]
