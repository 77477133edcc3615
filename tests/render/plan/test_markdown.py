"""A plan as a comment on a pull request."""

from __future__ import annotations

import re
from dataclasses import replace

from mlctl.planning.model import FieldChange
from mlctl.render.plan import markdown
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER, ENDPOINT


def comment(*texts: str, before: tuple[str, ...] = (), destroying: bool = False) -> str:
    """The comment about `texts`, where `before` is applied."""
    return markdown.plan(plan(*texts, backend=workspace(*before), destroying=destroying).plan)


def rows(text: str) -> list[list[str]]:
    """The rows of the table of changes, cell by cell."""
    table = text.partition("| monthly cost of nodes |")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_the_head_counts() -> None:
    assert comment(CLUSTER).startswith("### mlctl plan: 1 to add, 0 to change, 0 to destroy\n")


def test_nothing_to_do_is_one_line() -> None:
    assert comment(CLUSTER, before=(CLUSTER,)) == "### mlctl plan: no changes\n"


def test_a_row_says_what_changes_and_which_line_asks_for_it() -> None:
    text = comment(CLUSTER + "max_instances: 7\n", before=(CLUSTER,))
    wanted = ["`~`", "`compute/cpu-cluster`", "change: `max_instances` `4` → `7`", "`main.yml:4`"]
    assert rows(text) == [wanted]


def test_what_forces_a_replacement_stands_first() -> None:
    after = f"{CLUSTER}max_instances: 7\nenable_node_public_ip: false\n"
    row = rows(comment(after, before=(CLUSTER,)))[0]
    assert row[2].startswith("**replace**: `enable_node_public_ip` ")


def test_what_is_destroyed_stands_out() -> None:
    assert rows(comment(ENDPOINT, before=(ENDPOINT,), destroying=True))[0][2] == "**destroy**"


def test_the_whole_plan_is_folded_with_the_signs_at_the_left() -> None:
    text = comment(CLUSTER + "max_instances: 7\n", before=(CLUSTER,))
    assert "<details><summary>The whole plan</summary>\n\n```diff\n" in text
    assert re.search(r"(?m)^! +max_instances: 4 -> 7$", text)


def test_a_refusal_is_said_first() -> None:
    text = comment(CLUSTER + "min_instances: 4000\nmax_instances: 4000\n")
    assert text.startswith("### mlctl plan: the workspace would refuse it\n\n- **MLC4")


def test_a_secret_is_not_in_it() -> None:
    ssh = "ssh_settings: {admin_username: me, admin_password: Sesame-1}\n"
    assert "Sesame-1" not in comment(CLUSTER + ssh)


def test_of_a_secret_that_changes_only_the_name_is_shown() -> None:
    made = plan(CLUSTER + "max_instances: 7\n", backend=workspace(CLUSTER)).plan
    (change,) = made.changes
    secret = FieldChange(
        ("ssh_settings", "admin_password"), before=True, after=True, sensitive=True
    )
    text = markdown.plan(replace(made, changes=(replace(change, fields=(secret,)),)))
    assert rows(text)[0][2] == "change: `ssh_settings.admin_password`"


def test_text_cannot_break_out_of_the_table_or_the_fence() -> None:
    wild = ENDPOINT + 'tags: {a: "x | ``` <b>y</b>"}\n'
    text = comment(wild, before=(ENDPOINT,))
    assert rows(text)[0][2].endswith("```` x \\| ``` <b>y</b> ````")
    assert "````diff\n" in text


def test_a_comment_has_an_end() -> None:
    many = [f"$schema: https://x/batchEndpoint.schema.json\nname: e{n:04}x\n" for n in range(900)]
    text = comment(*many)
    assert len(text) < 65_536
    assert "and 850 more" in text
    assert re.search(r"\n  # \.\.\. and \d+ more changes, which do not fit here\n", text)
    assert text.endswith("\nPlan: 900 to add, 0 to change, 0 to destroy.\n```\n\n</details>\n")


def test_of_more_changes_than_a_comment_holds_those_are_shown_that_destroy() -> None:
    made = [f"{ENDPOINT[:-7]}a{n:03}x\ndescription: {'é' * 99}\n" for n in range(400)]
    gone = f"{CLUSTER.replace('cpu-cluster', 'zoo')}enable_node_public_ip: "
    backend = workspace(f"{gone}true\n")
    text = markdown.plan(plan(*made, f"{gone}false\n", backend=backend).plan)
    assert len(text.encode()) < 65_000
    assert rows(text)[0][1] == "`compute/zoo`"
    assert "# compute/zoo must be replaced" in text


def test_a_plan_with_very_many_errors_is_a_comment_too() -> None:
    many = [
        CLUSTER.replace("cpu-cluster", f"c{n:03}x") + "max_instances: 4000\nmin_instances: 4000\n"
        for n in range(300)
    ]
    text = comment(*many)
    assert len(text.encode()) < 65_000
    assert re.search(r"\n- and \d+ more\n", text)


def test_findings_mention_nobody() -> None:
    text = comment(CLUSTER.replace("cpu-cluster", '"@octocat"'))
    assert "@octocat" not in re.sub("`[^`]*`", "", text.partition("<details>")[0])
