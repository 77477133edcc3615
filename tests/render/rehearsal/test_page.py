"""Rehearsals as pages: the findings, each kill at its time, and nothing that is loaded."""

from __future__ import annotations

import re
from pathlib import Path

from mlctl.rehearsal.stage import KillSchedule
from mlctl.render.rehearsal import page as rehearsal_page
from tests.builders import rehearsed

RECTANGLE = r'<rect class="(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"'


def again(kill: int | None) -> str:
    return f"again --kill {kill} <b>"


def sections(text: str) -> dict[str, str]:
    """The parts of a page by their headings."""
    parts = re.findall(r"<section><h2>(.*?)</h2>(.*?)</section>", text)
    return dict(parts)


def test_the_page_of_a_scoring_script_has_its_findings_and_a_timeline_for_each_kill(
    tmp_path: Path,
) -> None:
    done = rehearsed.of_sample("appends", tmp_path, KillSchedule(kills=0, only=3))
    text = rehearsal_page.scoring(done, "Calm:    8 inputs\nVerdict: no", again)
    parts = sections(text)
    lost = "kill 3: node 2 lost between the end of run and its report"
    assert list(parts) == ["Findings", "Kills", "Without a loss", lost]
    assert "<p>Verdict: no</p>" in text
    assert "appends.py:14" in parts["Findings"]
    assert "again --kill 3 &lt;b&gt;" in parts["Findings"]
    assert "<td>MLC603</td>" in parts["Kills"]
    assert "lost" not in parts["Without a loss"]
    assert {"preparing", "running", "lost"} == {
        one[0] for one in re.findall(RECTANGLE, parts[lost])
    }


def test_a_lost_node_is_away_from_its_loss_on(tmp_path: Path) -> None:
    done = rehearsed.of_sample("appends", tmp_path, KillSchedule(kills=0, only=3))
    (run,) = done.runs
    length = max(one.end for one in run.timeline)
    part = list(sections(rehearsal_page.scoring(done, "", again)).values())[-1]
    found = [float(left) for state, left, _ in re.findall(RECTANGLE, part) if state == "lost"]
    assert found == [round(1000 * run.kills[0].loss.at / length, 1)]


def test_the_page_of_a_training_has_its_lives(tmp_path: Path) -> None:
    done = rehearsed.training("last_ckpt", tmp_path, only=2)
    parts = sections(rehearsal_page.training(done, "Verdict: no", again))
    assert list(parts) == ["Findings", "Kills", "Without a loss", "Kill 2"]
    assert "MLC652" in parts["Findings"]
    assert "<td>outputs/last.ckpt</td>" in parts["Kills"]
    assert re.findall(r'class="name">(life \d)<', parts["Kill 2"]) == ["life 1", "life 2"]


def test_a_page_of_a_rehearsal_loads_nothing(tmp_path: Path) -> None:
    done = rehearsed.of_sample("says_nothing", tmp_path, KillSchedule(kills=0))
    text = rehearsal_page.scoring(done, "", again)
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)|https?://|url\(", text)
