"""Odd values, and texts and data with something odd in them."""

from __future__ import annotations

import copy
import json
from random import Random

from mlctl.pointer import Data

WORDS = (
    *(
        "",
        " ",
        "\n",
        "-",
        "--",
        "~",
        "*",
        "[",
        "{",
        "'",
        '"',
        "\\",
        ":",
        "@",
        "@x",
        "%",
        "=",
        "a=b",
    ),
    *(
        "null",
        "true",
        "no",
        "0",
        "-1",
        "1",
        "1e999",
        "-0",
        "nan",
        ".inf",
        "0x1f",
        "1_0",
        "07",
        "9" * 30,
    ),
    *(
        "9" * 5000,
        "-" + "9" * 5000,
        "1." + "9" * 5000,
        "x" * 10_000,
        "ab " * 5000,
        "Standard_" + "D" * 5000,
    ),
    *(
        "2026-01-01",
        "2026-13-45",
        "12:30:45",
        "PT5M",
        "P" + "9" * 400 + "D",
        "1h",
        "1e12",
        "1000000000000",
    ),
    *("a/b", "../x", "/dev/null", ".", "..", "~root", "azureml:", "azureml:a", "azureml:a:1"),
    *("azureml:a@latest", "azureml://", "azureml://jobs/j/outputs/artifacts/paths/m/", "file:x"),
    *(
        "https://[",
        "http://h:x/",
        "https://a:b@h/",
        "/subscriptions/s/resourceGroups/g",
        "é",
        "İı",
        "ß",
    ),
    *(
        "\u202e",
        "\ufeff",
        "\ufffe",
        "\x00",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\ud83d",
        "\U0001f600",
        "\udcff",
    ),
    *("##vso[task.x]", "::error::", "${{ env.X }}", "${X}", "$(x)", "{0}", "%s", "[?a]", "a.b[0]"),
    *("compute/cpu", "batch-endpoint/e", "model/m:1", "*", "?", "[z-a]", "**/" * 200, "(" * 200),
)
SIMPLE: tuple[Data, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**64), 10**30, 10**400),
    *(0.5, -1.0, 1e308, 5e-324, 1e20),
)
MARKS = (
    *("- ", ": ", "? ", "&a ", "*a", "!!str ", "!!python/object:os.system ", "!x ", "| \n", ">-\n"),
    *(
        "---\n",
        "...\n",
        "# ",
        "\t",
        "\r\n",
        "\r",
        "<<: *a\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "'",
        '"',
        "%YAML 9.9\n",
    ),
    *("\x00", "\x85", "\ufeff", "\ud800", "\\ud83d", "\\x", "[" * 300, "{a: " * 300, "- " * 500),
)


def word(random: Random) -> str:
    """An odd text."""
    return random.choice(WORDS)


def data(random: Random, depth: int = 0) -> Data:
    """An odd value of JSON."""
    match random.randrange(9 if depth < 3 else 6):
        case 6:
            return [data(random, depth + 1) for _ in range(random.randrange(4))]
        case 7:
            return {word(random): data(random, depth + 1) for _ in range(random.randrange(4))}
        case 8:
            return _nested(random)
        case _:
            return random.choice((*SIMPLE, *(word(random) for _ in SIMPLE)))


def _nested(random: Random) -> Data:
    out: Data = 1
    for _ in range(random.choice((5, 100, 400))):
        out = [out] if random.random() < 0.5 else {"a": out}
    return out


def mutated(random: Random, value: Data) -> Data:
    """A copy of JSON data in which one value or a few are others."""
    holder = {"": copy.deepcopy(value)}
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        box, key = random.choice(places(holder))
        match random.randrange(5):
            case 0 if box is not holder:
                del box[key]
            case 1 if isinstance(box, dict) and box is not holder:
                box[word(random)] = box.pop(key)
            case _:
                box[key] = data(random)
    return holder[""]


def places(box: Data) -> list[tuple[Data, Data]]:
    """The places in JSON data: each as what holds it, and its key there."""
    found: list[tuple[Data, Data]] = []
    todo = [box]
    while todo:
        one = todo.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        for key in keys:
            found.append((one, key))
            if isinstance(one[key], dict | list):
                todo.append(one[key])
    return found


def mutated_text(random: Random, text: str) -> str:
    """A text in which something is inserted, removed, repeated or moved."""
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        lines = text.splitlines(keepends=True) or [""]
        at = random.randrange(len(lines))
        match random.randrange(9):
            case 0:
                lines[at] = ""
            case 1:
                lines[at] *= random.choice((2, 2, 50))
            case 2:
                key, colon, _ = lines[at].partition(":")
                lines[at] = f"{key}{colon or ':'} {random.choice((_scalar, word))(random)}\n"
            case 3:
                lines[at] = random.choice(("  ", "    ", "\t", "- ")) + lines[at]
            case 4:
                lines[at] = lines[at].lstrip()
            case 5:
                other = random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 6:
                spot = random.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:spot] + random.choice(MARKS) + lines[at][spot:]
            case 7:
                spot = random.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:spot] + lines[at][spot + 1 :]
            case _:
                lines[at] = f"{word(random)}: {_scalar(random)}\n" + lines[at]
        text = "".join(lines)
    return text


def _scalar(random: Random) -> str:
    """A value in JSON's spelling, which YAML reads too."""
    return json.dumps(data(random))[:20_000]


def mutated_bytes(random: Random, content: bytes) -> bytes:
    """Bytes of which some are flipped, cut off, inserted or zero."""
    out = bytearray(content)
    at = random.randrange(len(out) + 1)
    size = random.choice((1, 4, 64, 1024))
    match random.randrange(5):
        case 0:
            del out[at:]
        case 1:
            out[at : at + size] = random.randbytes(size)
        case 2:
            out[at : at + size] = bytes(255 - one for one in out[at : at + size])
        case 3:
            out[at : at + size] = bytes(size)
        case _:
            del out[at : at + size]
    return bytes(out)


def encoded(text: str) -> bytes:
    """A text as bytes, with what UTF-8 cannot hold as it would be in a broken file."""
    return text.encode(errors="surrogatepass")
