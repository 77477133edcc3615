"""A command job, or a script, as a training job to rehearse."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import replace
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data
from mlctl.rehearsal import folders
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.training.model import Training

STEPS_VARIABLE = "MLCTL_REHEARSAL_STEPS"
# Names of a script's option for the number of steps; its first match counts.
_STEPS = """
    steps max_steps num_steps n_steps total_steps train_steps training_steps num_train_steps
    max_train_steps num_training_steps num_iterations iterations max_iterations max_iters max_iter
    num_iters iters epochs max_epochs num_epochs n_epochs nb_epochs num_train_epochs train_epochs
    total_epochs number_of_epochs epoch max_epoch
"""


def from_script(script: Path) -> Training:
    """Return a training script alone, started by `python`."""
    return Training(f"python {shlex.quote(script.name)}", script.parent)


def from_job(
    job: Resource, local_input: Path | None = None, node_count: int | None = None
) -> Training:
    """Read a command job; inputs are literals, files beside the YAML, or `local_input`.

    `node_count` replaces the job's own number of nodes.

    Raises:
        RehearsalError: its code or an input is missing, or it cannot run on so many nodes.
    """
    folder = job.document.folder
    code = job.text("code")
    if code is None or not files.is_folder(folder / code):
        raise RehearsalError(f"`{job.document.source.name}` names no local folder of code")
    outputs = job.get("outputs")
    distribution = str(job.get("distribution", "type") or "").casefold()
    distributed = distribution == "pytorch"
    nodes = node_count or job.number("resources", "instance_count") or 1
    if distribution and not distributed and nodes > 1:
        raise RehearsalError(
            f"`distribution: {distribution}` cannot be rehearsed on {nodes} nodes, only"
            " `pytorch` can; --nodes 1 rehearses the command on one"
        )
    return Training(
        command=_with_inputs(str(job.get("command")), job, local_input),
        code=files.real(folder / code),
        variables=folders.declared_variables(job.get("environment_variables")),
        outputs=tuple(map(str, outputs)) if isinstance(outputs, dict) else (),
        nodes=nodes if distributed else 1,
        processes=(job.number("distribution", "process_count_per_instance") or 1)
        if distributed
        else 1,
        distributed=distributed,
    )


def _with_inputs(command: str, job: Resource, local_input: Path | None) -> str:
    inputs = job.get("inputs")
    for name, value in inputs.items() if isinstance(inputs, dict) else ():
        command = command.replace(
            f"${{{{inputs.{name}}}}}", _input(str(name), value, job, local_input)
        )
    return command


def _input(name: str, value: Data, job: Resource, local_input: Path | None) -> str:
    text = value.get("path") if isinstance(value, dict) else value
    local = job.document.folder / str(text)
    if isinstance(text, str) and (files.is_file(local) or files.is_folder(local)):
        return shlex.quote(str(files.real(local)))
    if not isinstance(value, dict):
        return str(text)
    if local_input is None:
        raise RehearsalError(
            f"the input `{name}` is not a local file: `{text}`; name one with --input"
        )
    if not (files.is_file(local_input) or files.is_folder(local_input)):
        raise RehearsalError(f"there is no input `{local_input}`")
    return shlex.quote(str(files.real(local_input)))


def with_nodes(training: Training, nodes: int | None) -> Training:
    """Return the job on so many nodes.

    Raises:
        RehearsalError: it is not distributed, and runs on one.
    """
    if nodes is None or (nodes == 1 and not training.distributed):
        return training
    if not training.distributed:
        raise RehearsalError(
            "a training job runs on one node: only a job with `distribution: {type: pytorch}` "
            "has more"
        )
    return replace(training, nodes=nodes)


def with_steps(training: Training, steps: int) -> Training:
    """Set the number of steps by the argument of the command that has it.

    Code can also read it from MLCTL_REHEARSAL_STEPS.

    Raises:
        RehearsalError: neither the command nor the code has a number of steps.
    """
    announced = replace(training, variables={**training.variables, STEPS_VARIABLE: str(steps)})
    for name in _STEPS.split():
        word = name.replace("_", "[-_]")
        pattern = rf"(?<![\w-])((?:--?)?(?:\w+\.)*{word}(?:=|\s+))([\w.]+)"
        match = re.search(pattern, training.command)
        if match is not None:
            command = training.command[: match.start(2)] + str(steps)
            return replace(announced, command=command + training.command[match.end(2) :])
    flags = {flag.lstrip("-").replace("-", "_"): flag for flag in _flags(training)}
    for name in _STEPS.split():
        if name in flags:
            return replace(announced, command=f"{training.command} {flags[name]} {steps}")
    texts = (file.read_bytes() for file in training.code.rglob("*.py") if files.is_file(file))
    if any(STEPS_VARIABLE.encode() in text for text in texts):
        return announced
    raise RehearsalError(
        "the number of steps cannot be set: give the script an argument `--steps`,"
        f" `--max-steps` or `--epochs`, or let it read {STEPS_VARIABLE}"
    )


def _flags(training: Training) -> Iterator[str]:
    """Return the long flags that the command's script declares, if it is the last word."""
    name = shlex.split(training.command, posix=True)[-1] if training.command.strip() else ""
    script = training.code / name
    if not name.endswith(".py") or not files.is_file(script):
        return
    try:
        tree = ast.parse(script.read_bytes())
    except (ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for argument in node.args:
                value = argument.value if isinstance(argument, ast.Constant) else None
                if isinstance(value, str) and value.startswith("--"):
                    yield value
