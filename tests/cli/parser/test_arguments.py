"""Arguments as az reads them: beginnings of flags, several values, switches, suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.cli.parser.arguments import UsageError, bind, expand_files, read
from mlctl.cli.parser.tree import Arity, CommandNode, Option
from mlctl.kinds import KINDS
from tests.builders.commands import command_tree

ROOT = command_tree()


def words(line: str) -> list[str]:
    """The line as it was meant: the command, every flag by its full name, the rest."""
    return meant(line.split())


def meant(typed: list[str]) -> list[str]:
    """The same, for words with spaces."""
    found = read(typed, ROOT)
    flags = [word for one in found.flags for word in (one.option.long, *one.values)]
    return [*found.command.path, *flags, *found.positionals]


def values(line: str, flag: str) -> list[list[str]]:
    """The values of every occurrence of a flag."""
    return [list(one.values) for one in read(line.split(), ROOT).flags if one.option.long == flag]


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
    assert "Did you mean --backend?" in refused("--bakend local plan")


def test_a_command_that_is_not_known_is_refused_with_the_nearest() -> None:
    assert "'creat' is misspelled or not recognized" in refused("compute creat")
    assert "Did you mean `compute`?" in refused("computes list")
    assert "Choose from: create, update, show" in refused("compute zzz")


def test_why_a_flag_of_az_is_not_here_is_said() -> None:
    line = ["model", "update", "-n", "m", "--no-flag", "r"]
    with pytest.raises(UsageError, match="--no-flag is not supported: registries"):
        read(line, ROOT, {"--no-flag": "registries"})
    with pytest.raises(UsageError, match="--no-flag is not supported: written to"):
        read(line, ROOT, {"model update --no-flag": "written to", "--no-flag": "x"})


def test_several_values_may_follow_a_flag() -> None:
    line = "compute update -n x --set a=1 b=2 --tags t=1 --set c=3"
    assert values(line, "--set") == [["a=1", "b=2"], ["c=3"]]


def test_the_places_of_flags_keep_their_order() -> None:
    line = "compute update -n x --remove a --set b=1 --add c d"
    flags = read(line.split(), ROOT).flags
    assert [(one.option.long, one.position) for one in flags[1:]] == [
        *(("--remove", 1), ("--set", 2), ("--add", 3))
    ]


@pytest.mark.parametrize("value", ["-1", "-.5", "-", "- a"])
def test_a_number_a_dash_and_a_text_with_a_space_are_values(value: str) -> None:
    assert meant(["compute", "update", "-n", "x", "--set", "a=1", value])[-2:] == ["a=1", value]


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
    assert words("compute delete -yn x") == ["compute", "delete", "--yes", "--name", "x"]


def test_a_short_flag_may_have_its_value_attached() -> None:
    assert words("compute show -nx") == words("compute show -n=x") == words("compute show -n x")


def test_a_flag_without_a_value_takes_none() -> None:
    assert "argument --yes: ignored explicit argument '1'" in refused("compute delete -n x --yes=1")


def test_what_follows_two_dashes_is_no_flag() -> None:
    assert words("validate -- --strict") == ["validate", "--strict"]
    assert read(["validate", "--", "--strict"], ROOT).positionals == ("--strict",)


def test_flags_of_every_command_may_stand_before_the_verb() -> None:
    assert words("--back local plan x") == words("plan --backend local x")
    assert words("compute --backend local list") == words("compute list --backend local")


def test_the_output_and_its_query_may_stand_before_the_verb() -> None:
    line = words("compute list -o tsv --query [].name")
    assert words("-o tsv compute --query [].name list") == line
    assert "unrecognized arguments: --query" in refused("--query x validate y")


def test_every_required_flag_that_is_missing_is_named() -> None:
    said = refused("batch-deployment show")
    assert "the following arguments are required: --name/-n, --endpoint-name/-e" in said


def test_help_asks_for_no_required_flag() -> None:
    assert words("batch-deployment show --help") == ["batch-deployment", "show", "--help"]


def test_a_positional_that_is_missing_or_too_much_is_refused() -> None:
    assert "the following arguments are required: PATH..." in refused("validate --strict")
    assert "unrecognized arguments: b c" in refused("explain a b c")


def test_a_file_stands_for_its_content() -> None:
    given = ["--ssh-key-value", "@key.pub", "--set=@key.pub", "@nope", "a@b", "@"]
    assert expand_files(given, key_pub) == [
        *("--ssh-key-value", "ssh-rsa AAAA", "--set=ssh-rsa AAAA", "@nope", "a@b", "@")
    ]


COMMANDS = [node for node in ROOT.commands() if node.path[0] in KINDS]


@given(st.sampled_from(COMMANDS), st.data())
def test_an_unambiguous_beginning_means_the_flag(node: CommandNode, data: st.DataObject) -> None:
    option = data.draw(st.sampled_from([one for one in node.options if one.long.startswith("--")]))
    typed = option.long[: data.draw(st.integers(3, len(option.long)))]
    begun = {one for one in node.options for name in one.names if name.startswith(typed)}
    azs = {one for one in begun if one.is_az}
    exact = {one for one in begun if typed in one.names}
    required = [word for one in node.options if one.required for word in (one.long, "x")]
    required += ["x" for positional in node.positionals if positional.required]
    after = [] if option.arity in (Arity.NONE, Arity.BOOLEAN) else ["v"]
    meant = next((one for one in (exact, begun, azs) if len(one) == 1), set())
    if meant:
        follows = [] if {one.arity for one in meant} & {Arity.NONE, Arity.BOOLEAN} else ["v"]
        line = read([*node.path, *required, typed, *follows], ROOT)
        assert meant <= {one.option for one in line.flags}
    else:
        with pytest.raises(UsageError, match="ambiguous"):
            read([*node.path, *required, typed, *after], ROOT)


def test_flags_that_az_has_not_are_in_nobodys_way() -> None:
    assert "--file" in words("batch-endpoint invoke -n e --f inputs.yml")
    assert "--resource-group" in words("compute create -n x --re g")


@pytest.mark.parametrize("node", COMMANDS, ids=lambda node: " ".join(node.path))
def test_no_two_flags_of_a_command_share_a_name(node: CommandNode) -> None:
    names = [name for one in node.options for name in one.names]
    assert len(names) == len(set(names))


def test_options_know_what_follows_them() -> None:
    node = ROOT.children["compute"].children["create"]
    takes = {one.long: one.arity for one in node.options}
    wanted = {
        "--tags": Arity.MANY,
        "--size": Arity.ONE,
        "--no-wait": Arity.NONE,
        "--enable-node-public-ip": Arity.BOOLEAN,
        "--user-assigned-identities": Arity.MANY,
    }
    assert {name: takes[name] for name in wanted} == wanted


def test_an_option_is_called_by_its_long_name() -> None:
    assert Option(("-y", "--yes")).long == "--yes"
    assert Option(("-y",)).long == "-y"


def test_values_have_the_types_of_their_parameters() -> None:
    line = "apply a b --parallelism 3 --output JSON --target x --target y"
    bound = bind(read(line.split(), ROOT))
    wanted = {"paths": ["a", "b"], "parallelism": 3, "target": ["x", "y"], "yes": False}
    assert {name: bound[name] for name in wanted} == wanted
    assert bound["output"] == "json"


@pytest.mark.parametrize("number", [1, 64])
def test_bounds_are_allowed(number: int) -> None:
    line = read(["apply", "x", "--parallelism", str(number)], ROOT)
    assert bind(line)["parallelism"] == number


def test_a_path_is_a_path() -> None:
    assert bind(read(["plan", "x", "--out", "p.json"], ROOT))["out"] == Path("p.json")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("apply x --parallelism few", "'few' is not a valid value for '--parallelism'. It takes a"),
        ("apply x --parallelism 0", "It takes at least 1 and at most 64."),
        ("apply x --parallelism 65", "It takes at least 1 and at most 64."),
        ("local quota set --computes -1", "It takes at least 0."),
        (
            "validate x -o xml",
            "Allowed values: human, json, sarif, github, azure-pipelines, gitlab",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        bind(read(line.split(), ROOT))
    assert said in str(caught.value)


def test_what_is_not_said_has_its_default() -> None:
    bound = bind(read(["validate", "x"], ROOT))
    assert (bound["strict"], bound["ignore"], bound["backend"]) == (False, None, None)


@pytest.mark.parametrize("node", list(ROOT.commands()), ids=lambda node: " ".join(node.path))
def test_every_parameter_of_a_command_has_a_flag_or_a_place(node: CommandNode) -> None:
    slots = [*(one.parameter for one in node.options), *(one.parameter for one in node.positionals)]
    assert sorted(slot.name for slot in slots if slot.name) == sorted(node.defaults)


def test_a_command_may_have_others_beneath_it() -> None:
    assert words("simulate samples --files 3") == ["simulate", "--files", "3", "samples"]
    assert words("simulate --files 3 samples") == ["simulate", "--files", "3", "samples"]
    line = words("simulate training samples --steps 3")
    assert line == ["simulate", "training", "--steps", "3", "samples"]


def test_a_folder_that_is_called_like_a_command_is_named_by_its_path() -> None:
    assert words("simulate ./training") == ["simulate", "./training"]
    assert words("simulate -- training") == ["simulate", "training"]
