"""Run the nodes of a job in parallel, each once its inputs exist.

A step of a pipeline that has completed with the same command, code and inputs is taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from mlctl import files
from mlctl.assets import folders
from mlctl.dataclasses import dataclass, field, replace
from mlctl.digests import sha256
from mlctl.rehearsal.process import Interpreter
from mlctl.running import commands, model
from mlctl.running.commands import Conditions

_COPIED = 1 << 26  # bytes of a user's input of which a command gets a copy
_HASHED = 1 << 28  # bytes of a file whose content is hashed; of a larger one size and time
_SHOWN = 100  # characters of a condition


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run a job: where, how many nodes at once, files of each input, or only one node.

    `fresh` runs what has completed before, too.
    """

    folder: Path
    interpreter: Interpreter
    environment: Mapping[str, str]
    at_once: int = 1
    sample: int | None = None
    only: str | None = None
    fresh: bool = False
    max_output: int = 0
    on_change: Callable[[str, model.NodeResult | None], None] = lambda _name, _result: None


@dataclass
class JobRun:
    """A run in progress: the result of each node, and the ids of its outputs.

    A node that has run again has another id, so what takes its outputs runs again, too.
    """

    plan: model.JobPlan
    settings: RunSettings
    results: dict[str, model.NodeResult] = field(default_factory=dict)
    output_ids: dict[str, str] = field(default_factory=dict)
    _cancelled: Event = field(default_factory=Event)

    def run(self) -> dict[str, model.NodeResult]:
        """Run to the end; the results by node, in the order of the plan.

        Raises:
            RunError: a node that is to be run alone is not there, or what it needs has not run.
        """
        waiting = self._chosen()
        running: dict[Future[model.NodeResult], str] = {}
        with ThreadPoolExecutor(max(1, self.settings.at_once)) as pool:
            try:
                while waiting or running:
                    self._begin(waiting, running, pool)
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        self._end(running.pop(future), future.result())
            except BaseException:
                self._cancelled.set()
                raise
        self._link_outputs()
        return {name: self.results[name] for name in self.plan.nodes if name in self.results}

    def check_inputs(self) -> None:
        """Report which inputs are missing on this machine before anything runs.

        Raises:
            RunError: an input of a node that is to be run is not here.
        """
        for node in (self.plan.nodes[name] for name in self._chosen()):
            for name, value in node.inputs.items():
                if isinstance(value, model.Elsewhere):
                    raise model.RunError(f"{node.where}: {_not_here(name, value)}")

    def _chosen(self) -> list[str]:
        """Return the nodes to run; if one is selected, the nodes that it needs are reused."""
        only = self.settings.only
        if only is None:
            return list(self.plan.nodes)
        if only not in self.plan.nodes:
            raise model.RunError(
                f"there is no step `{only}`; there are {', '.join(self.plan.nodes)}"
            )
        for name in self.plan.nodes[only].needs:
            folder = self.settings.folder / name
            record = commands.saved(folder)
            if record is None and self.plan.nodes[name].guards:
                self.results[name] = model.NodeResult(model.RunStatus.BYPASSED, folder)
                continue
            if record is None:
                raise model.RunError(
                    f"`{only}` needs `{name}`, which has not completed in `{self.settings.folder}`"
                )
            self.output_ids[name] = str(record["made"])
            self.results[name] = model.NodeResult(model.RunStatus.COMPLETED, folder, reused=True)
        return [only]

    def _begin(
        self,
        waiting: list[str],
        running: dict[Future[model.NodeResult], str],
        pool: ThreadPoolExecutor,
    ) -> None:
        """Start every node whose needs are met; leave out those whose needs failed."""
        stopped = not self.plan.goes_on and any(
            not result.status.is_well for result in self.results.values()
        )
        for name in list(waiting):
            node = self.plan.nodes[name]
            result = self._not_begun(node, stopped=stopped)
            if result is not None:
                waiting.remove(name)
                self._end(name, result)
            elif node.needs <= self.results.keys():
                waiting.remove(name)
                running[pool.submit(self._run, node)] = name

    def _not_begun(self, node: model.RunNode, *, stopped: bool) -> model.NodeResult | None:
        """Return the result of a node that cannot run; None if it runs, or is still undecided."""
        folder = self._folder(node.name)
        for need in sorted(node.needs & self.results.keys()):
            if not self.results[need].status.is_well:
                why = f"`{need}` did not complete"
                return model.NodeResult(model.RunStatus.NOT_STARTED, folder, why=why)
        if stopped:
            return model.NodeResult(model.RunStatus.NOT_STARTED, folder, why="another step failed")
        if not node.needs <= self.results.keys():
            return None
        why = ""
        try:
            for value in node.values:
                if isinstance(value, model.Produced) and not self._sources(value):
                    why = f"`{next(model.produced_by(value)).node}` did not run"
            for guard in node.guards if not why else ():
                if self._holds(guard.value) is not guard.expected:
                    why = f"its condition is not {str(guard.expected).lower()}"
        except (model.RunError, OSError) as error:
            return model.NodeResult(model.RunStatus.FAILED, folder, why=str(error))
        if not why:
            return None
        commands.forget(folder)
        return model.NodeResult(model.RunStatus.BYPASSED, folder, why=why)

    def _sources(self, value: model.Produced) -> list[model.StepOutput]:
        """Return the outputs that a value consists of, of nodes that ran."""
        match value:
            case model.StepOutput(node):
                ran = self.results[node].status is not model.RunStatus.BYPASSED
                return [value] if ran else []
            case model.LoopOutput(rounds, every):
                sources = [source for inner in rounds for source in self._sources(inner)]
                return sources if every else sources[-1:]

    def _holds(self, value: model.Value) -> bool:
        """Whether a condition is true."""
        text = value.text if isinstance(value, model.Literal) else ""
        if isinstance(value, model.Produced):
            text = self._written(self._sources(value)[0])
        if text.casefold() not in ("true", "false"):
            raise model.RunError(
                f"its condition is `{text[:_SHOWN]}`, which is neither true nor false"
            )
        return text.casefold() == "true"

    def _written(self, source: model.StepOutput) -> str:
        """Read the text of an output that is a value from the file that the command wrote."""
        result = self.results[source.node]
        text = commands.written_value(result.folder, source.name)
        if text is None:
            raise model.RunError(
                f"`{source.node}` has written no value for `{source.name}`: the file"
                f" ${{{{outputs.{source.name}}}}} has one"
            )
        return text

    def _end(self, name: str, result: model.NodeResult) -> None:
        self.results[name] = result
        self.settings.on_change(name, result)

    def _folder(self, name: str) -> Path:
        return self.settings.folder / name

    def _run(self, node: model.RunNode) -> model.NodeResult:
        """Run a node, or take it as it is; every error becomes its result."""
        began = time.monotonic()
        folder = self._folder(node.name)
        try:
            key = self._key(node)
            record = commands.saved(folder)
            only = self.settings.only == node.name
            if (
                record
                and record.get("key") == key
                and node.reusable
                and not (self.settings.fresh or only)
            ):
                self.output_ids[node.name] = str(record["made"])
                return model.NodeResult(
                    model.RunStatus.COMPLETED,
                    folder,
                    float(record.get("seconds", 0)),
                    reused=True,
                    metrics=record.get("metrics", {}),
                    parameters=record.get("parameters", {}),
                )
            self.settings.on_change(node.name, None)
            result = self._fresh(node, folder)
            result = replace(result, seconds=round(time.monotonic() - began, 3))
            if result.status is model.RunStatus.COMPLETED:
                record = {
                    "key": key,
                    "seconds": result.seconds,
                    "metrics": dict(result.metrics),
                    "parameters": dict(result.parameters),
                }
                self.output_ids[node.name] = commands.save(folder, record)
        except (model.RunError, OSError) as error:
            why = _sentence(error) if isinstance(error, OSError) else str(error)
            why = why.removeprefix(f"{node.where}: ")  # a report has it before each reason
            return model.NodeResult(
                model.RunStatus.FAILED, folder, time.monotonic() - began, why=why
            )
        return result

    def _fresh(self, node: model.RunNode, folder: Path) -> model.NodeResult:
        """Run a node in an emptied folder."""
        settings = self.settings
        interpreter = settings.interpreter
        interpreter = replace(interpreter, python=node.python or interpreter.python)
        commands.lay_out(folder, node.code, node.outputs, interpreter.python)
        conditions = Conditions(
            interpreter,
            settings.environment,
            settings.max_output,
            self._cancelled.is_set,
            settings.folder,
        )
        values = {
            f"inputs.{name}": self._text(node, name, value, folder)
            for name, value in node.inputs.items()
        }
        if node.trials is not None:
            from mlctl.running import trials

            return trials.run(node, values, folder, conditions, settings.at_once)
        if node.parallel is not None:
            from mlctl.running import parallel

            return parallel.run(node, values, folder, conditions, settings.at_once)
        values |= commands.output_places(node, folder)
        status, why = commands.run(node, commands.bind(node.command, values), folder, conditions)
        return model.NodeResult(status, folder, why=why, metrics=commands.metrics(folder))

    def _text(self, node: model.RunNode, name: str, value: model.Value, folder: Path) -> str:
        match value:
            case model.Literal(text):
                return text
            case model.StepOutput(source, output):
                place = str(self.results[source].output(output))
                return shlex.quote(self._written(value) if self._is_value(value) else place)
            case model.LoopOutput(_, every):
                sources = self._sources(value)
                if every:
                    return shlex.quote(self._together(sources, folder / "inputs" / name))
                return self._text(node, name, sources[0], folder)
            case model.LocalData(path):
                if self.settings.sample is None and node.splits(name):
                    return shlex.quote(str(path))  # of which every mini-batch is a copy
                return shlex.quote(str(self._copied(path, folder / "inputs" / name)))
            case model.Elsewhere():
                raise model.RunError(_not_here(name, value))

    def _together(self, sources: list[model.StepOutput], place: Path) -> str:
        """Join what the rounds of a loop left: a list of values, or the path of an MLTable."""
        if self._is_value(sources[0]):
            return json.dumps([self._written(source) for source in sources])
        places = [self.results[source.node].output(source.name) for source in sources]
        return str(commands.table_of(places, place))

    def _is_value(self, source: model.StepOutput) -> bool:
        return self.plan.nodes[source.node].outputs.get(source.name) in commands.VALUE_TYPES

    def _copied(self, path: Path, place: Path) -> Path:
        """Return where a command finds a user's input: a copy that it may damage, or a sample."""
        paths = [path] if files.is_file(path) else sorted(filter(files.is_file, path.rglob("*")))
        sampled = paths[: self.settings.sample]
        if len(sampled) == len(paths) and sum(file.stat().st_size for file in paths) > _COPIED:
            return path
        if paths == [path]:
            place.mkdir(parents=True)
            return Path(shutil.copy(path, place / path.name))
        place.mkdir(parents=True)
        for file in sampled:
            target = place / file.relative_to(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        return place

    def _key(self, node: model.RunNode) -> str:
        """Return a node's key for reuse: its command, its code, and the sources of its inputs."""
        values = {name: self._key_of(value) for name, value in node.inputs.items()}
        step = [node.command, values, dict(node.variables), dict(node.outputs), repr(node.trials)]
        where = [node.python or self.settings.interpreter.python, node.image, node.processes]
        code = _content(node.code) if node.code is not None else ""
        scoring = dict(node.parallel.step.data) if node.parallel else None
        parts = [step, where, code, scoring, self.settings.sample]
        return sha256(json.dumps(parts, sort_keys=True, default=str))

    def _key_of(self, value: model.Value) -> str:
        match value:
            case model.Literal(text):
                return f"literal:{text}"
            case model.StepOutput(node, name):
                return f"output:{self.output_ids[node]}/{name}"
            case model.LoopOutput(_, every):
                return " ".join([str(every), *map(self._key_of, self._sources(value))])
            case model.LocalData(path):
                return f"data:{_content(path)}"
            case model.Elsewhere(uri):
                return f"elsewhere:{uri}"

    def _link_outputs(self) -> None:
        """Link the outputs of the job to those of its nodes."""
        place = self.settings.folder / "outputs"
        if place.is_symlink() or place.exists():
            shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        for name, value in self.plan.outputs.items():
            if not {output.node for output in model.produced_by(value)} <= self.results.keys():
                continue  # one step was run alone
            outputs = [
                self.results[source.node].output(source.name)
                for source in self._sources(value)
                if self.results[source.node].status is model.RunStatus.COMPLETED
            ]
            if isinstance(value, model.LoopOutput) and value.every:
                commands.table_of(outputs, place / name)
            elif outputs:
                (place / name).symlink_to(outputs[-1])


def _not_here(name: str, value: model.Elsewhere) -> str:
    """Say what to do about an input that is missing on this machine."""
    asset = value.uri.startswith("azureml:") and "://" not in value.uri
    declared = ", as does the file that declares it" if asset else ""
    return (
        f"the input `{name}` is at `{value.uri}`, and nothing is fetched:"
        f" --input {value.typed}=PATH says where it is here{declared}"
    )


def _sentence(error: OSError) -> str:
    of_file = f" (`{error.filename}`)" if error.filename else ""
    return f"{error.strerror or error}{of_file}"


def _content(path: Path) -> str:
    """Hash a file, or the files of a folder of code or data."""
    digest = hashlib.sha256()
    for name, file in _files(path):
        status = file.stat()
        digest.update(f"{name}\0{status.st_size}\0".encode())
        if status.st_size > _HASHED:
            digest.update(str(status.st_mtime_ns).encode())
            continue
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    if files.is_file(path):
        yield path.name, path
        return
    for entry in folders.walk(path, folders.read_ignored(path), prune=True):
        if not entry.is_folder and os.path.isfile(entry.path):  # noqa: PTH113
            yield entry.relative, entry.path
