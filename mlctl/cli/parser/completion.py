"""Complete command lines in bash, zsh and fish: the scripts, and what they ask mlctl.

A script asks with environment variables; their names are typer's, so that older scripts work.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mlctl import files
from mlctl.cli.parser.arguments import BOOLEANS, UsageError
from mlctl.cli.parser.help import meaning
from mlctl.cli.parser.tree import BEFORE_COMMAND, Arity, CommandNode, Option

VARIABLE = "_MLCTL_COMPLETE"  # `complete_bash` asks for words, `source_bash` for the script
_LINE, _FISH_ACTION = "_TYPER_COMPLETE_ARGS", "_TYPER_COMPLETE_FISH_ACTION"
_LARGEST_STARTUP_FILE = 16 << 20  # bytes
# A shell's script below the home folder, the file that loads it, and how.
SHELLS = {
    "bash": (".bash_completions/mlctl.sh", ".bashrc", "source '{script}'"),
    "zsh": (".zfunc/_mlctl", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/mlctl.fish", "", ""),
}


def typed_words(environment: Mapping[str, str]) -> list[str]:
    """Return the words after `mlctl` up to the cursor; the last one may be incomplete or empty."""
    if environment[VARIABLE].endswith("bash"):
        words = _split(environment.get("COMP_WORDS", ""))
        cursor = int(environment.get("COMP_CWORD", "0"))
        return [*words[1:cursor], words[cursor] if cursor < len(words) else ""]
    line = environment.get(_LINE, "")
    return [*_split(line)[1:], *([""] if line.endswith(" ") else [])] or [""]


def answer(root: CommandNode, environment: Mapping[str, str]) -> tuple[str, bool]:
    """Return the answer for the shell, and whether mlctl has words to complete."""
    action, _, shell = environment[VARIABLE].partition("_")
    if action == "source":
        return script(shell), True
    *before, begun = typed_words(environment)
    words = {word: text for word, text in _words(root, before, begun) if word.startswith(begun)}
    if shell == "fish" and environment.get(_FISH_ACTION) == "is-args":
        return "", bool(words)
    return _WRITERS.get(shell, _for_bash)(words), True


def script(shell: str) -> str:
    """Return the script of a shell."""
    if shell not in SHELLS:
        raise UsageError(f"completion supports {', '.join(SHELLS)}; $SHELL names `{shell}`.")
    return Path(__file__).with_suffix(f".{shell}").read_text(encoding="utf-8")


def install(shell: str, home: Path) -> Path:
    """Write the script of a shell below the home folder, and let the shell load it."""
    text = script(shell)
    place, startup, command = SHELLS[shell]
    path, startup_file = home / place, home / startup
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, text.encode())
    line = command.format(script=path)
    if startup:
        present = files.is_file(startup_file)
        old = files.read(startup_file, _LARGEST_STARTUP_FILE).decode() if present else ""
        if line not in old:
            files.write(startup_file, f"{old.rstrip()}\n{line}\n".lstrip().encode())
    return path


def _words(root: CommandNode, before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    """Return the words that can follow, with their meaning; none if the shell completes files."""
    node, open_option = _position(root, before)
    if begun.startswith("-"):
        for option in node.options:
            yield from ((name, meaning(option, node.path)) for name in option.names)
    elif open_option is not None:
        suggest = open_option.suggest
        suggested = suggest() if callable(suggest) else suggest
        yield from ((word, "") for word in open_option.choices or suggested)
    else:
        yield from ((name, below.summary) for name, below in node.children.items())


def _position(root: CommandNode, before: Sequence[str]) -> tuple[CommandNode, Option | None]:
    """Return the command that the words name, and the flag whose value comes next."""
    node, open_option = root, None
    for word in before:
        if word.startswith("-") and word != "-":
            options = (*node.options, *BEFORE_COMMAND)
            option = next((option for option in options if word in option.names), None)
            open_option = None if option is None or option.arity is Arity.NONE else option
        elif open_option is not None:
            is_value = open_option.arity is not Arity.BOOLEAN or word.casefold() in BOOLEANS
            open_option = open_option if open_option.arity is Arity.MANY else None
            node = node if is_value else node.children.get(word, node)
        else:
            node = node.children.get(word, node)
    return node, open_option


def _split(line: str) -> list[str]:
    """Split a line into words; the last may have an unclosed quote."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def _for_bash(words: Mapping[str, str]) -> str:
    return "\n".join(words)


def _for_zsh(words: Mapping[str, str]) -> str:
    if not words:
        return "_files"
    listed = (_quoted(word) + (f":{_quoted(text)}" if text else "") for word, text in words.items())
    return "_arguments '*: :((" + "\n".join(listed) + "))'"


def _quoted(text: str) -> str:
    for mark, escaped in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(mark, escaped)
    return f'"{text}"'


def _for_fish(words: Mapping[str, str]) -> str:
    return "\n".join(f"{word}\t{' '.join(text.split())}".strip() for word, text in words.items())


_WRITERS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
