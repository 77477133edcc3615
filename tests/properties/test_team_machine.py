"""Two projects and other people in one workspace, by the commands that they type, in any order.

Whatever happened (kills, two applies at once): nothing is deleted but what the project owns and
declares no more, nothing protected goes, what others own stays, and nothing is written that no file
of the project declares. An apply that nothing disturbs ends at the declaration, drift says exactly
what others changed, what is pulled or exported plans to nothing.
`make test-histories HISTORIES=500` tries many, and says what happened in them.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.shell.exits import Exit
from mlctl.emulator.requests.settings import HOME
from mlctl.kinds.address import Address
from mlctl.planning.ownership.owner import PROJECT
from mlctl.simulator.control_plane import control
from tests.builders.counts import counted, tell
from tests.builders.forked import Kill, Shell
from tests.builders.shell import PLENTY
from tests.builders.workspace import bodies

MANY = int(os.environ.get("MLCTL_TEST_HISTORIES", "3"))
PROJECTS = ("red", "blue")
NAMES = ("k0x", "k1x", "k2x", "k3x")
SIZES = ("Standard_D4ds_v5", "Standard_D8ds_v5")
SMALL = 9  # the nodes of the first cluster in the environment `small`
PRUNE = ("--prune", "--prune-limit", "99")
REFUSED = {Exit.REFUSED, Exit.REJECTED}
KILLED = -9
Write = tuple[str, int, str]  # a cluster, its nodes, its tag `team`
WRITES = st.tuples(st.sampled_from(NAMES), st.integers(1, 4), st.sampled_from([*PROJECTS, "us"]))
Edit = tuple[str, str, int]  # a cluster, its size, its nodes
EDITS = st.tuples(st.sampled_from(NAMES), st.sampled_from(SIZES), st.integers(1, 4))
WHOSE, CLUSTERS = st.sampled_from(PROJECTS), st.sampled_from(NAMES)
ENVIRONMENTS = st.sampled_from([None, "small"])
HEAD = "$schema: https://azuremlschemas.azureedge.net/latest/{}.schema.json\n"
CLUSTER = (
    HEAD.format("amlCompute") + "name: {name}\ntype: amlcompute\nsize: {size}\n"
    "max_instances: {most}\ntags: {{team: {team}}}\n"
)
SCORING = (
    HEAD.format("model") + "name: m-{0}\nversion: 1\ntype: mlflow_model\n"
    "path: azureml://datastores/workspaceblobstore/paths/m\n---\n"
    + HEAD.format("batchEndpoint")
    + "name: e-{0}\ndefaults: {{deployment_name: dep}}\n---\n"
    + HEAD.format("modelBatchDeployment")
    + "name: dep\nendpoint_name: e-{0}\ntype: model\nmodel: azureml:m-{0}:1\ncompute: azureml:{1}\n"
)

Bodies = dict[str, dict[str, Any]]


@dataclass
class Declared:
    """What the folder of a project says."""

    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores_on: str | None = None
    protected: str | None = None

    def addresses(self, project: str) -> set[str]:
        found = {f"compute/{name}" for name in self.clusters}
        if self.scores_on:
            found |= {f"model/m-{project}:1", f"batch-endpoint/e-{project}"}
            found |= {f"batch-deployment/e-{project}/dep"}
        return found

    def most(self, name: str, environment: str | None) -> int:
        said = int(self.clusters[name]["most"])
        return SMALL if environment and name == NAMES[0] else said

    def write(self, folder: Path, project: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, values in self.clusters.items():
            (folder / f"{name}.yml").write_text(CLUSTER.format(name=name, **values))
        if self.scores_on:
            (folder / "scoring.yml").write_text(SCORING.format(project, self.scores_on))
        small = "{overlays: [small.yml]}" if NAMES[0] in self.clusters else "{}"
        protect = f"protect: [compute/{self.protected}]\n" if self.protected else ""
        text = f"project: {project}\n{protect}environments:\n  small: {small}\n"
        (folder / "mlctl.yml").write_text(text)
        (folder / "small.yml").write_text(f"compute/{NAMES[0]}: {{max_instances: {SMALL}}}\n")


class TeamMachine(RuleBasedStateMachine):
    """The folders `red` and `blue`, a local workspace, and others who write there."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mlctl-team-"))
        self.mlctl = Shell(self.folder)
        self.declared = {project: Declared() for project in PROJECTS}
        self.clean: tuple[str, str | None] | None = None  # whose apply nothing but others followed
        self.others: dict[str, dict[str, Any] | None] = {}  # what they wrote since; None: deleted
        self.saved: str | None = None
        self.touched: set[str] = set()  # what others wrote since the plan was saved

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(size=st.sampled_from(SIZES))
    def begun(self, size: str) -> None:
        assert self.mlctl(*PLENTY).code == 0
        for number, project in enumerate(PROJECTS):
            values = {"size": size, "most": 2, "team": project}
            self.declared[project].clusters[NAMES[number]] = values
            self.write(project)
            self.apply_in(project)

    # Edits of the files.

    @counted(rule, project=WHOSE, edit=EDITS)
    def declare(self, project: str, edit: Edit) -> None:
        name, size, most = edit
        self.declared[project].clusters[name] = {"size": size, "most": most, "team": project}
        self.write(project)

    @counted(rule, project=WHOSE, names=st.sets(CLUSTERS, min_size=1), prune=st.booleans())
    def declare_no_more(self, project: str, names: set[str], *, prune: bool) -> None:
        mine = self.declared[project]
        for name in names & mine.clusters.keys():
            if len(mine.clusters) > 1 and mine.scores_on != name:
                del mine.clusters[name]
        self.write(project)
        self.apply_in(project, prune=prune)

    @counted(rule, project=WHOSE, on=st.booleans())
    def score_or_not(self, project: str, *, on: bool) -> None:
        mine = self.declared[project]
        mine.scores_on = next(iter(mine.clusters)) if on else None
        self.write(project)

    @counted(rule, project=WHOSE, name=st.one_of(st.none(), CLUSTERS))
    def protect(self, project: str, name: str | None) -> None:
        self.declared[project].protected = name
        self.write(project)

    # Others, in the portal.

    @counted(rule, write=WRITES)
    def others_change(self, write: Write) -> None:
        assume(f"compute/{write[0]}" in self.bodies())
        self.change(write)

    def change(self, write: Write) -> None:
        """Write to a cluster, where there is one, by no file."""
        name, most, team = write
        address = Address("compute", name)
        with closing(self.opened()) as cloud:
            live = cloud.read([address]).get(address)
            if live is None:
                return
            body = copy.deepcopy(dict(live.body))
            body["properties"]["properties"]["scaleSettings"]["maxNodeCount"] = most
            body["tags"] = {**body.get("tags", {}), "team": team}
            cloud.put(address, body).wait()
        self.others[name] = {"max_instances": most, "team": team}
        self.touched.add(str(address))

    @counted(rule, name=CLUSTERS)
    def others_make(self, name: str) -> None:
        made = ("compute", "create", "-n", name, "--type", "amlcompute", "--size", SIZES[0])
        with closing(self.opened()) as cloud:
            assume(not cloud.read([Address("compute", name)]))
        assert self.mlctl(*made).code == 0
        self.clean = None

    @counted(rule, name=CLUSTERS)
    def others_delete(self, name: str) -> None:
        with closing(self.opened()) as cloud:
            assume(cloud.read([Address("compute", name)]))
            used = str([one.body for one in cloud.list("batch-deployment")])
            assume(f"/computes/{name}" not in used)
            cloud.delete(Address("compute", name)).wait()
        self.others[name] = None

    # The projects.

    @counted(rule, project=WHOSE, environment=ENVIRONMENTS, prune=st.booleans(), edit=EDITS)
    def apply(self, project: str, environment: str | None, edit: Edit, *, prune: bool) -> None:
        self.declare(project=project, edit=edit)
        self.apply_in(project, environment, prune=prune)

    def apply_in(self, project: str, environment: str | None = None, *, prune: bool = True) -> None:
        before = self.bodies()
        done = self.mlctl(*self.words("apply", project, environment, prune=prune))
        self.kept(before, {project}, {project} if prune else set())
        tell(self, f"apply: exit code {done.code}")
        if done.code in REFUSED:
            assert self.bodies() == before, done.out
            mine = self.declared[project]
            theirs = [one for one in mine.addresses(project) if self.is_others(one, project)]
            assert done.code != Exit.REFUSED or theirs or mine.protected, done.out
            return
        assert done.code == 0, done.out + done.err
        words = (*self.words("plan", project, environment, prune=prune), "--detailed-exitcode")
        planned = self.mlctl(*words)
        assert planned.code == 0, planned.out + planned.err
        self.clean, self.others = (project, environment), {}

    @counted(
        rule,
        project=WHOSE,
        environment=ENVIRONMENTS,
        prune=st.booleans(),
        nth=st.integers(1, 5),
        late=st.booleans(),
        edits=st.lists(EDITS, max_size=3),
        on=st.booleans(),
    )
    def apply_and_be_killed(
        self,
        project: str,
        environment: str | None,
        nth: int,
        edits: list[Edit],
        *,
        prune: bool,
        late: bool,
        on: bool,
    ) -> None:
        for edit in edits:
            self.declare(project=project, edit=edit)
        self.score_or_not(project=project, on=on)
        before = self.bodies()
        words = self.words("apply", project, environment, prune=prune)
        done = self.mlctl(*words, kill=Kill(nth, late))
        tell(self, "killed", done.code == KILLED)
        self.kept(before, {project}, {project} if prune else set())
        self.clean = None
        if done.code == KILLED:
            assert self.mlctl("lock", "break", "--project", project, "--yes").code == 0
            self.apply_in(project, environment, prune=prune)

    @counted(rule, environment=ENVIRONMENTS, prune=st.booleans(), edits=st.tuples(EDITS, EDITS))
    def apply_both_at_once(
        self, environment: str | None, edits: tuple[Edit, Edit], *, prune: bool
    ) -> None:
        for project, edit in zip(PROJECTS, edits, strict=True):
            self.declare(project=project, edit=edit)
        before = self.bodies()
        commands = [self.words("apply", one, environment, prune=prune) for one in PROJECTS]
        done = self.mlctl.together(*commands)
        for one in done:
            tell(self, f"apply of two at once: exit code {one.code}")
            assert one.code in {0, *REFUSED, Exit.STALE, Exit.PARTIAL}, one.err
            assert "bug" not in one.err, one.err
        self.kept(before, set(PROJECTS), set(PROJECTS) if prune else set())
        self.clean = None
        self.apply_in("red", environment, prune=prune)

    @counted(rule, project=WHOSE, prune=st.booleans(), edit=EDITS)
    def save_a_plan(self, project: str, edit: Edit, *, prune: bool) -> None:
        self.declare(project=project, edit=edit)
        words = self.words("plan", project, None, prune=prune)
        done = self.mlctl(*words, "--out", "plan.json")
        assert done.code in {0, *REFUSED}, done.err
        self.saved, self.touched = project, set()

    @precondition(lambda self: self.saved is not None)
    @counted(rule)
    def apply_the_saved_plan(self) -> None:
        assert self.saved is not None
        before = self.bodies()
        done = self.mlctl("apply", "plan.json")
        tell(self, f"apply of a saved plan: exit code {done.code}")
        edited = done.code == Exit.ERROR and "does not match the files" in done.err
        expected = {0, Exit.STALE, Exit.PARTIAL, *REFUSED}
        assert edited or done.code in expected, done.out + done.err
        after = self.bodies()
        assert all(after.get(one) == before.get(one) for one in self.touched)
        if edited or done.code in {Exit.STALE, *REFUSED}:
            assert self.bodies() == before
        self.clean = self.saved = None

    @counted(rule, project=WHOSE)
    def take_over(self, project: str) -> None:
        before = self.bodies()
        done = self.mlctl("import", project, "--yes")
        tell(self, f"import: exit code {done.code}")
        assert done.code in {0, *REFUSED}, done.out + done.err
        after = self.bodies()
        assert after.keys() == before.keys()
        mine = self.declared[project].addresses(project)
        for address, body in after.items():
            assert _without_tags(body) == _without_tags(before[address])
            if body != before[address]:
                assert (owner(before[address]), owner(body)) == (None, project)
                assert address in mine
        self.clean = self.saved = None

    # What is said of it.

    @counted(rule, project=WHOSE, environment=ENVIRONMENTS, writes=st.lists(WRITES, max_size=2))
    def drift_says_exactly_what_others_changed(
        self, project: str, environment: str | None, writes: list[Write]
    ) -> None:
        if self.clean is None:
            self.apply_in(project, environment)
        if self.clean is None:
            return
        for write in writes:
            self.change(write)
        project, environment = self.clean
        expected: dict[str, set[tuple[str, Any]]] = {}
        for name, values in self.declared[project].clusters.items():
            if name not in self.others:
                continue
            written = self.others[name]
            if written is None:
                expected[f"compute/{name}"] = set()
                continue
            said = {"max_instances": self.declared[project].most(name, environment)}
            told = {(key, value) for key, value in written.items() if key != "team"}
            found = {one for one in told if one[1] != said[one[0]]}
            if written["team"] != values["team"]:
                found.add(("tags.team", written["team"]))
            if found:
                expected[f"compute/{name}"] = found
        done = self.mlctl(*self.words("drift", project, environment), "-o", "json")
        assert done.code == 0, done.err
        said_of = {
            one["address"]: {(".".join(each["path"]), each["live"]) for each in one["fields"]}
            for one in done.json["drift"]
        }
        assert said_of == expected
        tell(self, "differences told", sum(map(len, expected.values())))

    @counted(rule, project=WHOSE, writes=st.lists(WRITES, max_size=2))
    def what_is_pulled_plans_to_nothing(self, project: str, writes: list[Write]) -> None:
        self.apply_in(project)
        if self.clean != (project, None):
            return
        for write in writes:
            self.change(write)
        mine = self.declared[project]
        missing = [one for one in mine.clusters if self.others.get(one, {}) is None]
        done = self.mlctl("pull", project, "--write")
        assert done.code == (Exit.ERROR if missing else Exit.OK), done.out + done.err
        for name in mine.clusters:
            written = self.others.get(name)
            if written is not None:
                more = {"most": written["max_instances"], "team": written["team"]}
                mine.clusters[name] = {**mine.clusters[name], **more}
        if not missing:
            planned = self.mlctl("plan", project, "--detailed-exitcode")
            assert planned.code == 0, planned.out
        self.clean = None

    @counted(rule)
    def what_is_exported_plans_to_nothing(self) -> None:
        done = self.mlctl("export", "--to", "exported")
        assert done.code == 0, done.err
        planned = self.mlctl("plan", "exported", "--detailed-exitcode")
        assert planned.code == 0, planned.out + planned.err
        shutil.rmtree(self.folder / "exported")

    # What is always true of applies.

    def kept(self, before: Bodies, applied: set[str], pruned: set[str]) -> None:
        """Nothing was written or deleted that no project of these may write or delete."""
        after, self.touched = self.bodies(), set()
        declared = {one: self.declared[one].addresses(one) for one in applied}
        every = set[str]().union(*declared.values())
        for address, body in before.items():
            whose = owner(body)
            protected = {
                one
                for one in applied
                if self.declared[one].protected
                and address == f"compute/{self.declared[one].protected}"
            }
            if address not in after:
                # A replacement that was killed deletes what is declared; the next apply makes it.
                replaced = address in every and not protected and whose in (None, *applied)
                assert replaced or (whose in pruned and address not in declared[str(whose)])
                assert whose not in protected
                tell(self, "deleted")
            elif after[address] != body:
                assert address in every, address
                tell(self, "changed")
        assert after.keys() - before.keys() <= every

    def is_others(self, address: str, project: str) -> bool:
        """Whether another project owns what is at an address."""
        body = self.bodies().get(address)
        return body is not None and owner(body) not in (None, project)

    def words(
        self, verb: str, project: str, environment: str | None, *, prune: bool = False
    ) -> tuple[str, ...]:
        env = ("--env", environment) if environment else ()
        yes = ("--yes",) if verb == "apply" else ()
        return (verb, project, *env, *yes, *(PRUNE if prune else ()))

    def write(self, project: str) -> None:
        self.declared[project].write(self.folder / project, project)
        if self.clean and self.clean[0] == project:
            self.clean = None

    def opened(self) -> LocalBackend:
        return LocalBackend(self.folder / ".mlctl" / "local.db", HOME)

    def bodies(self) -> Bodies:
        """What is there once nothing runs any more, without what passes with time."""
        with closing(self.opened()) as cloud:
            control.wait(cloud.handle, 3600)
            return bodies(cloud)


TeamMachine.TestCase.settings = settings(max_examples=MANY, stateful_step_count=10)
TestTeamMachine = pytest.mark.slow(TeamMachine.TestCase)


def owner(body: Mapping[str, Any]) -> str | None:
    """The project whose tag a body has."""
    found = body.get("tags", {}).get(PROJECT) or body["properties"].get("tags", {}).get(PROJECT)
    return found or None


def _without_tags(body: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: one for key, one in body["properties"].items() if key != "tags"}
    return {**{key: one for key, one in body.items() if key != "tags"}, "properties": inner}
