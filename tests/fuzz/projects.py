"""What a project says beside its documents (policies, variables), and `pull` into odd files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

from mlctl.pointer import Data
from tests.builders.paths import SAMPLES
from tests.builders.shell import cluster, edit
from tests.fuzz.batches import Trial
from tests.fuzz.values import data, encoded, mutated, mutated_text, word

SIZES = "Standard_[DE][0-9]*"
RULES = (
    "compute.tier != 'low_priority' || compute.max_instances >= `2`",
    f"glob(compute.size, '{SIZES}', 'Standard_NC[0-9]*')",
    'contains(`["replace", "delete"]`, change.action) && env == \'prod\'',
    "length(compute.tags) > `0` && !starts_with(compute.name, 'x')",
    "plan.monthly_ceiling <= `500`",
)
PIECES = (
    *("(", "(" * 900, "!" * 900, "has(", ")", "]", "[*]", "[?a]", "[::2]", "[1.5]", "[-1]", "*"),
    *(
        "`[",
        "`1e999`",
        "`" + "9" * 5000 + "`",
        '`"\\ud83d"`',
        "'",
        '"\\x"',
        "@",
        "&",
        "|",
        "{a: b}",
    ),
    *(
        " || compute.size" * 500,
        " && !env" * 500,
        "<",
        "==",
        "max_by(@, &a)",
        "map(&a, @)",
        "sort(",
    ),
    *(
        "glob(compute.size, '[z-a]')",
        "glob(`1`)",
        f"glob(compute.size, '{'*a' * 300}')",
        ".x" * 500,
    ),
)
SCHEMA: Data = {
    "type": "object",
    "required": ["tags"],
    "properties": {
        "size": {"pattern": "^Standard_", "maxLength": 40},
        "tags": {"$ref": "#/$defs/t"},
    },
    "$defs": {"t": {"minProperties": 1, "additionalProperties": {"type": "string"}}},
}
SCHEMAS: tuple[Data, ...] = (
    *({"$ref": one} for one in ("#", "#/$defs/t", "#/nowhere", "file:///etc/passwd", "http://h/")),
    *(
        {"pattern": one}
        for one in ("^(a+)+$", "a{99999999999999999999}", "(?=", "[z-a]", "(a|a)*$")
    ),
    *({"multipleOf": 0}, {"enum": []}, {"format": "regex"}, {"not": {}}, {"anyOf": [{}] * 50}),
)
PROJECT: Data = {
    "variables": {"nodes": 4, "stage": None, "net": {"subnet": "a"}},
    "environments": {
        "dev": {"variables": {"stage": "dev"}, "overlays": ["overlay.yml"]},
        "prod": {"workspace": "ml-prod", "variables": {"stage": "prod"}},
    },
    "plain_env": ["TEAM"],
}
EXPRESSIONS = ("var.nodes", "var.stage", "var.net.subnet", "var.net", "env.TEAM", "env.X", "var.x")
OVERLAY = "compute/cpu:\n  max_instances: ${{ var.nodes }}\n  tags: {cost: null}\n"
CHECKS: tuple[tuple[str, ...], ...] = (
    ("validate", "."),
    ("validate", ".", "-o", "sarif"),
    ("plan", ".", "-o", "json"),
    ("plan", ".", "-o", "markdown"),
    ("render", "."),
    ("apply", ".", "--yes"),
)
LIVE = "size: Standard_D4ds_v5\nmax_instances: 3\ntags: {owner: us, cost: '1'}\n"
TAGS = ("tags: {}\n", "tags:\n  owner: them # who\n  old: x\n", "tags: &a\n  owner: o\n", "")


def policies(trial: Trial) -> None:
    """Odd rules and schemas, in commands that check them."""
    random = trial.random
    _tagged_cluster(trial.folder)
    _write("mlctl.yml", '{"policies": ["policies.yml"]}')
    if random.random() < 0.3:
        sample = (SAMPLES / "policies" / "policies.yml").read_text(encoding="utf-8")
        _write("policies.yml", mutated_text(random, sample))
    else:
        listed = [
            _policy(random, f"p{number}") for number in range(random.choice((1, 1, 1, 1, 20)))
        ]
        document = {"policies": listed}
        odd = mutated(random, document) if random.random() < 0.2 else document
        _write("policies.yml", json.dumps(odd))
    trial.begin(Path("policies.yml").read_text(encoding="utf-8", errors="replace")[:3000])
    for command in random.sample(CHECKS, 2):
        trial.run(*command)


def _policy(random: Random, name: str) -> Data:
    if random.random() < 0.4:
        if random.random() < 0.4:
            schema = mutated(random, SCHEMA)
        else:
            field = random.choice(("size", "tags"))
            schema = SCHEMA | {"properties": {field: random.choice(SCHEMAS)}}
        return {"name": name, "kind": "compute", "schema": schema}
    return {"name": name, "rule": _rule(random), "message": word(random) or "m"}


def _rule(random: Random) -> str:
    rule = random.choice(RULES)
    if random.random() < 0.3:  # a rule that can be read, with other operands
        old, new = (random.choice(RULES).partition(" ") for _ in range(2))
        return f"!({rule}) && {old[0]} == {new[0]}" * random.choice((1, 1, 50))
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(rule) + 1)
        until = at + random.choice((0, 0, 1, 10))
        rule = rule[:at] + random.choice((*PIECES, word(random))) + rule[until:]
    return rule


def variables(trial: Trial) -> None:
    """Odd variables: of `mlctl.yml`, of `--var`, of a file and of the environment."""
    random = trial.random
    _tagged_cluster(trial.folder)
    edit(trial.folder / "cpu.yml", "max_instances: 2\n", "")
    with Path("cpu.yml").open("a", encoding="utf-8") as file:
        file.write(
            f"max_instances: {_expression(random)}\ndescription: a {_expression(random)} b\n"
        )
    text = json.dumps(mutated(random, PROJECT) if random.random() < 0.7 else PROJECT)
    _write("mlctl.yml", text)
    _write("overlay.yml", mutated_text(random, OVERLAY) if random.random() < 0.3 else OVERLAY)
    _write("vars.yml", json.dumps(mutated(random, {"nodes": 5, "stage": "test"})))
    os.environ["TEAM"] = _argument(random)
    trial.begin(text[:2000] + Path("cpu.yml").read_text(encoding="utf-8", errors="replace")[-2000:])
    for command in random.sample(CHECKS, 2):
        flags = ["--env", random.choice(("dev", "dev", "prod", _argument(random)))]
        if random.random() < 0.5:
            flags += ["--var", f"{random.choice(('nodes', 'stage', 'net'))}={_argument(random)}"]
        if random.random() < 0.5:
            flags += ["--var-file", "vars.yml"]
        trial.run(*command, *flags)


def _expression(random: Random) -> str:
    inner = random.choice(EXPRESSIONS)
    if random.random() < 0.3:
        inner += random.choice((".", "..", ".0", "[0]", " ", "-", word(random)))
    return random.choice(("${{ %s }}", "${{%s}}", "${{" + " " * 2000 + "%s", "${{ %s }")) % inner


def pulls(trial: Trial) -> None:
    """`pull` of what is live into a file that is written oddly."""
    random = trial.random
    _tagged_cluster(trial.folder)
    _write("cpu.yml", "name: cpu\ntype: amlcompute\n" + LIVE)
    trial.run("apply", "cpu.yml", "--yes")
    ours = "name: cpu\ntype: amlcompute\nsize: Standard_D4ds_v5 # the size\nmax_instances: 2\n"
    text = ours + random.choice(TAGS)
    if random.random() < 0.3:
        text = json.dumps(mutated(random, {"name": "cpu", "type": "amlcompute", "tags": {}}))
    elif random.random() < 0.3:
        tags = {word(random): random.choice(("", word(random))) for _ in range(3)}
        text = f"{ours}tags: {json.dumps(tags, ensure_ascii=random.random() < 0.5)}\n"
    elif random.random() < 0.7:
        text = mutated_text(random, text)
    text = random.choice(("", "", "\ufeff", "---\n")) + text
    _write("cpu.yml", text.replace("\n", "\r\n") if random.random() < 0.2 else text)
    trial.begin(text[:3000])
    trial.run("pull", "cpu.yml")
    trial.run("pull", "cpu.yml", "--write")
    trial.run("plan", "cpu.yml")


def _tagged_cluster(folder: Path) -> None:
    with cluster(folder / "cpu.yml").open("a", encoding="utf-8") as file:
        file.write("tags: {cost: x}\n")


def _write(name: str, text: str) -> None:
    Path(name).write_bytes(encoded(text))


def _argument(random: Random) -> str:
    """An odd text, or odd data as JSON, as the system gives arguments."""
    odd = word(random) if random.random() < 0.5 else json.dumps(data(random))[:20_000]
    return os.fsdecode(encoded(odd).replace(b"\0", b"0"))
