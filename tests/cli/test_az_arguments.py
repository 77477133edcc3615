"""Arguments as az reads them: beginnings of flags, several values, switches, suggestions."""

from __future__ import annotations

from itertools import pairwise

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from mlctl.cli import tree
from mlctl.cli.app import KINDS, build
from mlctl.cli.arguments import UsageError, occurrence, read, with_files
from mlctl.cli.tree import Node, Option, Takes

ROOT = tree.read(typer.main.get_command(build()))


def words(line: str) -> list[str]:
    """The words that the parser gets; several values of a flag are in one list."""
    return read(line.split(), ROOT).words


def values(line: str, flag: str) -> list[tuple[int, list[str]]]:
    """The values of every occurrence of a flag, with its place."""
    given = read(line.split(), ROOT).words
    return [occurrence(after) for name, after in pairwise(given) if name == flag]


def key_pub(path: str) -> str:
    """The content of the only file that there is."""
    if path != "key.pub":
        raise FileNotFoundError(path)
    return "ssh-rsa AAAA\n"


def refused(line: str) -> str:
    """What is said of a line that cannot be read."""
    with pytest.raises(UsageError) as caught:
        read(line.split(), ROOT)
    return str(caught.value)


def test_a_flag_may_be_cut_short() -> None:
    assert words("compute show --na x --only") == [
        "compute",
        "show",
        "--name",
        "x",
        "--only-show-errors",
    ]


def test_az_scripts_cut_these_short() -> None:
    line = words("batch-deployment create --f d.yml --endpoint e")
    assert line == ["batch-deployment", "create", "--file", "d.yml", "--endpoint-name", "e"]


def test_a_flag_that_is_whole_is_not_the_beginning_of_another() -> None:
    assert words("model create -n m --version 1 -p x")[4:6] == ["--version", "1"]


def test_a_beginning_that_fits_several_flags_names_them() -> None:
    assert "ambiguous option: --m could match --min-instances, --max-instances" in refused(
        "compute update -n x --m 3"
    )


def test_a_flag_that_is_not_known_is_refused_with_the_nearest() -> None:
    assert refused("compute create --sise x").splitlines() == [
        "unrecognized arguments: --sise",
        "Did you mean --size?",
        "Try: mlctl compute create --help",
    ]


def test_a_command_that_is_not_known_is_refused_with_the_nearest() -> None:
    assert "'creat' is misspelled or not recognized" in refused("compute creat")
    assert "Did you mean `compute`?" in refused("computes list")
    assert "There is: create, update, show" in refused("compute zzz")


def test_why_a_flag_of_az_is_not_here_is_said() -> None:
    with pytest.raises(UsageError, match="--registry-name is not here: registries"):
        read(["model", "list", "--registry-name", "r"], ROOT, {"--registry-name": "registries"})


def test_several_values_may_follow_a_flag() -> None:
    line = "compute update -n x --set a=1 b=2 --tags t=1 --set c=3"
    assert values(line, "--set") == [(4, ["a=1", "b=2"]), (6, ["c=3"])]


def test_the_places_of_flags_keep_their_order() -> None:
    line = "compute update -n x --remove a --set b=1 --add c d"
    places = [values(line, flag)[0][0] for flag in ("--remove", "--set", "--add")]
    assert places == sorted(places)


@pytest.mark.parametrize("value", ["-1", "-.5", "-", "- a"])
def test_a_number_a_dash_and_a_text_with_a_space_are_values(value: str) -> None:
    given = read(["compute", "update", "-n", "x", "--set", "a=1", value], ROOT).words
    assert occurrence(given[-1])[1] == ["a=1", value]


def test_a_flag_that_wants_values_and_gets_none_is_refused() -> None:
    assert "argument --set: expected at least one argument" in refused(
        "compute update -n x --set --yes"
    )
    assert "argument --name/-n: expected one argument" in refused("compute show --name --debug")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", "true"),
        (" false", "false"),
        (" TRUE", "TRUE"),
        ("=no", "no"),
    ],
)
def test_a_switch_may_have_its_value(typed: str, meant: str) -> None:
    given = words(f"compute create -n x --enable-node-public-ip{typed} --size s")
    assert given[4:6] == ["--enable-node-public-ip", meant]


def test_a_switch_does_not_eat_the_next_flag() -> None:
    assert words("compute create -p -n x") == [
        *("compute", "create", "--ssh-public-access-enabled", "true", "--name", "x")
    ]


def test_short_flags_may_stand_together() -> None:
    assert words("compute delete -yn x") == ["compute", "delete", "-y", "--name", "x"]


def test_a_short_flag_may_have_its_value_attached() -> None:
    assert words("compute show -nx") == words("compute show -n=x") == words("compute show -n x")


def test_a_flag_without_a_value_takes_none() -> None:
    assert "argument --yes: ignored explicit argument '1'" in refused("compute delete -n x --yes=1")


def test_what_follows_two_dashes_is_no_flag() -> None:
    assert words("validate -- --strict") == ["validate", "--", "--strict"]


def test_flags_of_every_command_may_stand_before_the_verb() -> None:
    assert words("--back local plan x") == ["--backend", "local", "plan", "x"]


def test_every_required_flag_that_is_missing_is_named() -> None:
    said = refused("batch-deployment show")
    assert "the following arguments are required: --name/-n, --endpoint-name/-e" in said


def test_help_asks_for_no_required_flag() -> None:
    assert words("batch-deployment show --help") == ["batch-deployment", "show", "--help"]


def test_a_group_alone_is_incomplete() -> None:
    assert [read(line, ROOT).incomplete for line in ([], ["compute"], ["compute", "list"])] == [
        *(True, True, False)
    ]


def test_a_file_stands_for_its_content() -> None:
    given = ["--ssh-key-value", "@key.pub", "--set=@key.pub", "@nope", "a@b", "@"]
    assert with_files(given, key_pub) == [
        *("--ssh-key-value", "ssh-rsa AAAA", "--set=ssh-rsa AAAA", "@nope", "a@b", "@")
    ]


COMMANDS = [node for node in ROOT.commands() if node.path[0] in KINDS]


@given(st.sampled_from(COMMANDS).flatmap(lambda node: st.tuples(st.just(node), st.data())))
def test_an_unambiguous_beginning_means_the_flag(drawn: tuple[Node, st.DataObject]) -> None:
    node, data = drawn
    option = data.draw(st.sampled_from([one for one in node.options if one.long.startswith("--")]))
    begin = data.draw(st.integers(3, len(option.long)))
    begun = [
        one for one in node.options for name in one.names if name.startswith(option.long[:begin])
    ]
    after = {Takes.NOTHING: [], Takes.TRUTH: []}.get(option.takes, ["v"])
    required = [word for one in node.options if one.required for word in (one.long, "x")]
    line = [*node.path, *required, option.long[:begin], *after]
    if len(set(begun)) == 1 or option.long[:begin] in option.names:
        assert option.long in read(line, ROOT).words
    elif not any(option.long[:begin] in one.names for one in node.options):
        with pytest.raises(UsageError, match="ambiguous"):
            read(line, ROOT)


@pytest.mark.parametrize("node", COMMANDS, ids=lambda node: " ".join(node.path))
def test_no_two_flags_of_a_command_share_a_name(node: Node) -> None:
    names = [name for one in node.options for name in one.names]
    assert len(names) == len(set(names))


def test_options_know_what_follows_them() -> None:
    node = ROOT.nodes["compute"].nodes["create"]
    takes = {one.long: one.takes for one in node.options}
    wanted = {
        "--tags": Takes.MANY,
        "--size": Takes.ONE,
        "--no-wait": Takes.NOTHING,
        "--enable-node-public-ip": Takes.TRUTH,
        "--user-assigned-identities": Takes.MANY,
    }
    assert {name: takes[name] for name in wanted} == wanted


def test_an_option_is_called_by_its_long_name() -> None:
    assert Option(("-y", "--yes")).long == "--yes"
    assert Option(("-y",)).long == "-y"
