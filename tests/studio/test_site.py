"""The pages of the studio as answers: who gets them, what they show, and what they change."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.emulator.http.messages import Request
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import control, disruptions, faults
from mlctl.simulator.control_plane.jobs import records
from mlctl.studio import views
from mlctl.studio.site import Site
from mlctl.studio.watch import MOST_POINTS, Points, Watch
from tests.studio.conftest import Ask, with_cluster, with_job

PAGES = [
    "outputs/train",
    "",
    "clusters",
    "clusters/cpu",
    "jobs",
    "jobs/train",
    "endpoints",
    "happened",
    "cloud",
]


@pytest.fixture
def running(local: LocalBackend) -> LocalBackend:
    """A cluster with a job that runs on it."""
    with_cluster(local)
    with_job(local, "train")
    local.wait(600)
    return local


def text(ask: Ask, path: str, **query: str) -> str:
    """The page at a path."""
    response = ask(path, **query)
    assert response.status == 200, response.body
    return response.body.decode()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("token", ["", "a-toke", "a-tokenx", "é", "static"])
def test_nobody_without_the_token_sees_anything(
    running: LocalBackend, ask: Ask, path: str, token: str
) -> None:
    answer = ask(path, token=token)
    assert answer.status == 403
    assert b"train" not in answer.body


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_and_runs_no_script_but_the_studios(
    running: LocalBackend, ask: Ask, path: str
) -> None:
    answer = ask(path)
    page = answer.body.decode()
    assert (answer.status, page.count("<h1>"), page.count("<main")) == (200, 1, 1)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", PAGES)
def test_a_part_is_the_middle_of_its_page(running: LocalBackend, ask: Ask, path: str) -> None:
    part = text(ask, path, part="1")
    assert "<main" not in part
    assert part.partition("</div>")[2].strip() in text(ask, path)


def test_a_cluster_shows_its_nodes_and_what_they_did(running: LocalBackend, ask: Ask) -> None:
    page = text(ask, "clusters/cpu")
    assert "running 1" in page
    assert "node 0" in page
    data = json.loads(ask("data/nodes", cluster="cpu").body)
    last = dict(zip(data["names"], [row[-1] for row in data["data"][1:]], strict=True))
    assert last == {name: float(name == "running") for name in data["names"]}


def test_a_job_that_waits_says_for_what(local: LocalBackend, ask: Ask) -> None:
    with_cluster(local)
    with_job(local, "train")
    assert "Waiting for nodes: 1 allocating" in text(ask, "jobs/train")


def test_jobs_are_found_by_name_and_status(running: LocalBackend, ask: Ask) -> None:
    with_job(running, "other")
    assert "jobs/train" not in text(ask, "jobs", q="other")
    assert "jobs/other" in text(ask, "jobs", q="OTHER")
    assert "jobs/other" not in text(ask, "jobs", status="Running")


HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e{{7*7}}"


def test_what_others_wrote_is_text(local: LocalBackend, ask: Ask) -> None:
    with_cluster(local)
    with_job(local, "train")
    records.change(local.handle, "train", {"displayName": HOSTILE, "tags": {HOSTILE: HOSTILE}})
    for path in ("", "jobs", "jobs/train"):
        page = text(ask, path)
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert "{{7*7}}" in page


@pytest.mark.parametrize("path", ["jobs/<script>", "clusters/<script>", "nothing", "static/../x"])
def test_what_is_not_there_is_said_as_text(ask: Ask, path: str) -> None:
    answer = ask(path)
    assert answer.status == 404
    assert b"<script>" not in answer.body


@pytest.mark.parametrize("name", ["..", "../site.py", "%2e%2e/site.py", "VENDORED.toml", ""])
def test_only_files_of_the_pages_are_served(ask: Ask, name: str) -> None:
    assert ask(f"static/{name}").status == 404


def act(ask: Ask, name: str, fields: str = "") -> tuple[int, str]:
    """Send a form; the status and the words of the answer."""
    answer = ask(f"act/{name}", fields.encode())
    return answer.status, answer.body.decode()


def test_time_is_stepped_to_the_next_event_and_by_durations(
    running: LocalBackend, ask: Ask
) -> None:
    before = running.now()
    assert act(ask, "step", "time=15m") == (200, "Advanced by 15m00s")
    assert running.now() == before + 900
    assert act(ask, "step")[0] == 200
    assert running.now() > before + 900
    assert act(ask, "step", "time=soon")[0] == 400


def test_nodes_are_preempted_and_weather_is_set(running: LocalBackend, ask: Ask) -> None:
    assert act(ask, "preempt", "cluster=cpu&nodes=1") == (200, "1 node preempted")
    assert act(ask, "weather", "weather=stress") == (200, "Weather set to stress")
    assert disruptions.preemption(running.handle)
    assert act(ask, "weather", "weather=none")[0] == 200
    assert not disruptions.preemption(running.handle)
    assert act(ask, "weather", "weather=rainbow")[0] == 400


def test_faults_are_set_listed_and_cleared(running: LocalBackend, ask: Ask) -> None:
    assert act(ask, "fault", "trouble=throttle&operation=any&target=*&times=3")[0] == 200
    assert len(control.status(running.handle).faults) == 1
    for path in PAGES:
        ask(path)  # who looks on is not struck, and not counted
    assert "1. throttle" in text(ask, "cloud")
    assert control.status(running.handle).faults[0].seen == 0
    assert act(ask, "clear", "number=1") == (200, "1 fault cleared")
    assert act(ask, "fault", "trouble=rust")[0] == 400


def test_faults_of_the_wire_are_set_in_words_of_a_form(running: LocalBackend, ask: Ask) -> None:
    form = "trouble=refuse&status=429&retry_after=seconds&seconds=2.5&bytes=0&style=async"
    assert (
        act(ask, "fault", f"{form}&method=PUT&path=*/computes/*&nth=2&every=on&times=0")[0] == 200
    )
    (active,) = control.status(running.handle).faults
    assert active.to_json() | {"seen": 0} == {
        **active.to_json(),
        "trouble": "refuse",
        "status": 429,
        "retry_after": "seconds",
        "seconds": 2.5,
        "method": "PUT",
        "nth": 2,
        "every": True,
        "times": None,
    }
    assert "1. refuse 429" in text(ask, "cloud")


@pytest.mark.parametrize(
    "form", ["status=99", "status=x", "seconds=nan", "times=-1", "retry_after=soon", "color=red"]
)
def test_a_fault_of_the_wire_that_makes_no_sense_is_refused(
    running: LocalBackend, ask: Ask, form: str
) -> None:
    code, why = act(ask, "fault", f"trouble=refuse&{form}")
    assert code == 400
    assert "Traceback" not in why
    assert control.status(running.handle).faults == ()


def test_the_forms_offer_every_fault_that_there_is(ask: Ask) -> None:
    page = text(ask, "cloud")
    for kind in (*faults.FaultKind, *faults.HttpFaultKind):
        assert f'<option value="{kind.value}">' in page


def test_older_jobs_of_a_workspace_on_azure_are_read_when_they_are_asked_for(
    running: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlctl.studio.views._JOBS_READ", 1)
    with_job(running, "later")
    watch = Watch(running)
    watch.local = None
    site = Site(watch, "t")

    def get(**query: str) -> str:
        return site(Request("GET", "/t/jobs", query)).body.decode()

    assert "jobs/later" in get()
    assert "jobs/train" not in get()
    assert "read=2" in get()
    assert "jobs/train" in get(read="2")
    assert "read=" not in get(read="3").partition("<main")[2].partition("hx-trigger")[2]


def test_capacity_locks_and_cancelling(running: LocalBackend, ask: Ask) -> None:
    assert act(ask, "capacity", "nodes=3") == (200, "Capacity set to 3 nodes")
    assert act(ask, "lock", "cluster=cpu&locked=true") == (200, "Cluster cpu is locked")
    assert "cpu" in text(ask, "cloud").partition("Locked")[2][:80]
    assert act(ask, "cancel", "job=train")[0] == 200
    assert running.jobs.show("train").ended
    assert act(ask, "cancel", "job=train")[0] == 409


def test_a_forecast_stands_beside_what_happened(running: LocalBackend, ask: Ask) -> None:
    running.wait(4000)
    page = text(ask, "forecasts/train")
    assert page.count('data-name="time to complete">1h04m</td>') == 3  # nothing takes nodes away
    assert "<b>1h04m</b>" in page
    assert "weather: current" in page
    assert "weather: stress" in text(ask, "forecasts/train", weather="stress")
    assert ask("forecasts/train", weather="rainbow").status == 400
    assert ask("forecasts/nothing").status == 404


def test_logs_and_outputs_of_a_job_are_shown_as_text(
    running: LocalBackend, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [(PurePosixPath("artifacts/outputs/a.txt"), "x" * 30_000)]
    files += [(PurePosixPath("artifacts/logs/std.txt"), f"{HOSTILE}\nnext\udcff")]
    monkeypatch.setattr(type(running.jobs), "outputs", lambda _jobs, _name: iter(files))
    page = text(ask, "outputs/train")
    assert page.index("logs/std.txt") < page.index("outputs/a.txt")
    assert "&lt;script&gt;alert(1)" in page
    assert "next" in page
    assert "x" * 20_001 not in page


def test_a_plan_is_made_again_when_a_file_is_saved_and_not_at_each_look(
    running: LocalBackend, tmp_path: Path
) -> None:
    file = tmp_path / "cpu.yml"
    file.write_text("name: cpu")
    made: list[int] = []

    def plan() -> dict[str, object]:
        made.append(1)
        return {"error": f"plan {len(made)}", "summary": None, "findings": "", "text": ""}

    watch = Watch(running, [str(tmp_path)])
    site = Site(watch, "t", plan)
    for _ in range(3):
        watch.look(0.5)
        assert b"plan 1" in site(Request("GET", "/t/plan")).body
    file.write_text("name: other")
    watch._next_stamp = 0.0
    watch.look(0.5)
    assert b"plan 2" in site(Request("GET", "/t/plan")).body


def test_a_long_training_and_many_clusters_make_no_longer_chart(
    local: LocalBackend, ask: Ask
) -> None:
    with_cluster(local)
    with_job(local, "train", steps=50_000)
    local.wait(60.0 * 60_000)
    steps = json.loads(ask("data/metrics/train").body)["data"]
    assert len(steps[0]) <= 2 * MOST_POINTS
    assert steps[1][-1] == 50_000
    history = ask.watch.follow()  # type: ignore[attr-defined]
    for number in range(50):
        points = history.nodes[f"c{number}"] = Points()
        for at in range(500):
            points.add(at + number / 50, (0, 0, 0, 1, 0, 0, 0))
    nodes = json.loads(ask("data/nodes", cluster="").body)["data"]
    assert len(nodes[0]) <= 2 * MOST_POINTS


def test_a_bug_is_a_page_and_ends_nothing(
    running: LocalBackend, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(views, "endpoints", lambda _backend, _query: 1 / 0)
        answer = ask("endpoints")
    assert answer.status == 500
    assert b"this is a bug in mlctl: ZeroDivisionError" in answer.body
    assert ask("endpoints").status == 200


def test_a_pipeline_is_drawn_in_the_order_of_its_data() -> None:
    parts = [{"name": name, "title": f"step {name}"} for name in ("c", "a", "b", "d")]
    needs = {"b": ["a"], "c": ["a", "b"], "a": ["elsewhere"]}
    stages = views._stages(parts, needs)
    assert [[step["name"] for step in stage] for stage in stages] == [["a", "d"], ["b"], ["c"]]
    assert stages[2][0]["after"] == ["step a", "step b"]
    assert views._stages(parts, {}) == []
    assert len(views._stages(parts, {"a": ["b"], "b": ["a"]})) <= 4  # a ring ends


def test_a_series_stays_within_its_bound_and_keeps_its_ends() -> None:
    points = Points()
    for at in range(100_000):
        points.add(float(at), (float(at),))
    assert len(points.times) <= MOST_POINTS
    assert (points.times[0], points.rows[-1]) == (0.0, (99_999.0,))
    assert points.times == sorted(points.times)


@pytest.mark.parametrize("name", ["", "nothing", "step/more"])
def test_there_is_no_other_action(ask: Ask, name: str) -> None:
    assert act(ask, name)[0] == 404


def test_time_that_is_played_moves_by_its_speed(running: LocalBackend, ask: Ask) -> None:
    watch: Watch = ask.watch  # type: ignore[attr-defined]
    before = running.now()
    assert act(ask, "play", "speed=60") == (200, "Playing at 60x")
    watch.look(2.0)
    assert running.now() == before + 120
    assert act(ask, "play", "speed=0") == (200, "Paused")
    watch.look(2.0)
    assert running.now() == before + 120
    assert act(ask, "play", "speed=7")[0] == 400


def test_a_change_of_another_process_is_noticed(running: LocalBackend, ask: Ask) -> None:
    watch: Watch = ask.watch  # type: ignore[attr-defined]
    watch.look(0.5)
    seen = watch.revision
    watch.look(0.5)
    assert watch.revision == seen
    control.advance(running.handle, 4000)
    watch.look(0.5)
    assert watch.revision > seen
    assert watch.says == "job train: Completed"


def test_a_cloud_that_is_reset_has_a_new_history(running: LocalBackend, ask: Ask) -> None:
    watch: Watch = ask.watch  # type: ignore[attr-defined]
    assert watch.follow().nodes
    control.reset(running.handle, "1")
    assert watch.follow().nodes == {}


def test_a_workspace_that_is_made_later_has_its_whole_history(
    local: LocalBackend, ask: Ask
) -> None:
    assert "No clusters." in text(ask, "")
    with_cluster(local)
    with_job(local, "train")
    local.wait(600)
    assert "node 0" in text(ask, "clusters/cpu")
    assert "READY" in text(ask, "happened")


def test_a_workspace_on_azure_is_read_and_never_changed(running: LocalBackend) -> None:
    watch = Watch(running)
    watch.local = None
    site = Site(watch, "t")

    def get(path: str, method: str = "GET") -> Any:
        return site(Request(method, f"/t/{path}"))

    for path in ("", "clusters", "clusters/cpu", "jobs", "jobs/train", "endpoints"):
        page = get(path)
        assert page.status == 200
        assert b'method="post"' not in page.body
    assert [get(path).status for path in ("happened", "cloud", "data/nodes")] == [404, 404, 403]
    assert [get(f"act/{name}", "POST").status for name in ("step", "play", "fault")] == [403] * 3
    assert running.read([Address("compute", "cpu")])


@pytest.mark.slow
def test_an_update_of_10_000_nodes_and_1_000_jobs_is_below_100_kb(
    local: LocalBackend, ask: Ask
) -> None:
    local.set_quota(low_priority=10**7, computes=500)
    for number in range(20):
        with_cluster(local, f"c{number}x", most=500)
    for number in range(1000):
        with_job(local, f"job-{number}", f"c{number % 20}x", steps=600, nodes=10)
    local.wait(1800)
    charts: dict[str, list[tuple[str, dict[str, str]]]] = {
        "": [("nodes", {"cluster": ""}), ("bill", {})],
        "clusters": [("nodes", {"cluster": ""})],
        "clusters/c3x": [("nodes", {"cluster": "c3x"})],
        "jobs": [],
        "jobs/job-3": [("metrics/job-3", {})],
        "happened": [],
    }
    updates = {
        path: len(ask(path, part="1").body)
        + sum(len(ask(f"data/{name}", **query).body) for name, query in shown)
        for path, shown in charts.items()
    }
    assert "running 10000" in text(ask, "")
    assert max(updates.values()) < 100_000, updates


def test_an_event_of_the_stream_comes_no_more_often_than_once_a_second(ask: Ask) -> None:
    watch: Watch = ask.watch  # type: ignore[attr-defined]
    times: list[float] = []

    async def listen(stream: Any, sleeps: list[float]) -> None:
        async for part in stream:
            watch.revision += 1  # something changes all the time
            if part:
                times.append(sum(sleeps))
            if len(times) == 5:
                return

    sleeps: list[float] = []

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlctl.studio.site.asyncio.sleep", sleep)
        stream = ask("events").stream
        asyncio.run(listen(stream, sleeps))
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))
