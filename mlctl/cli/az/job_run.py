"""`mlctl job run`: the user's own code of a job, here and now; no workspace is needed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from mlctl import files
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.scope import price_cache
from mlctl.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from mlctl.running.executor import RunSettings
    from mlctl.running.model import JobPlan, NodeResult

Files = Annotated[list[str], argument(metavar="FILE...")]
_FOLLOW_S = 0.2
_TIMEOUT = 86_400.0  # seconds, unless --timeout is given

EnvironmentsBy: TypeAlias = Literal["python", "venv", "docker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunArgs:
    """What is run, with which inputs, where."""

    input: list[str] | None = flag(metavar="NAME=VALUE")
    sample: int | None = flag(min=1)
    only: str | None = flag(metavar="STEP")
    kills: int | None = flag(min=1, metavar="N")
    python: str | None = flag(metavar="PROGRAM")
    environments: EnvironmentsBy = flag(default="python")
    parallelism: int | None = flag(min=1)
    keep: Path | None = flag(metavar="DIR")
    fresh: bool = flag(default=False)
    max_output: int = flag(default=0, min=0)
    stream: bool = flag("-s", default=False)
    json_: bool = flag("--json", default=False)


def run(session: Session, paths: Files, *, args: JobRunArgs, ignore: Ignore = None) -> Exit:
    """Run the code of a job on this machine: commands, pipelines, sweeps, parallel steps."""
    from mlctl.running.executor import JobRun
    from mlctl.running.model import RunError
    from mlctl.service_errors import Permanent

    try:
        plan = _plan(session, paths, args, ignore)
        if plan is None:
            return Exit.ERROR
        with _settings(session, plan, args) as settings:
            if args.environments == "venv":
                from mlctl.running.environments import with_environments

                cache = price_cache(session.environment).with_name("environments")
                python = settings.interpreter.python
                plan = with_environments(plan, cache, python, session.note)
            elif args.environments == "docker":
                from mlctl.running.images import with_images

                plan = with_images(plan, session.note)
            JobRun(plan, settings).check_inputs()
            with _Progress(session, plan, settings.folder, args).shown() as change:
                results = JobRun(plan, replace(settings, on_change=change)).run()
    except RunError as error:
        raise Permanent("NotRun", str(error)) from None
    completed = _report(session, plan, results, settings, args, paths)
    if completed and args.kills:
        return _rehearse(session, paths, args)
    return Exit.OK if completed else Exit.ERROR


def _plan(session: Session, paths: list[str], args: JobRunArgs, ignore: Ignore) -> JobPlan | None:
    """Return the plan of the only job in the files; None if they have errors, which are shown."""
    from mlctl.kinds.records.component import KIND as COMPONENT
    from mlctl.kinds.records.job import KIND as JOB
    from mlctl.running.model import RunError
    from mlctl.running.planner import plan_job

    report = new_report(session, ignore)
    report.previews = True  # it only runs on this machine
    loaded = session.loader(report, scripts=False).load(paths)
    session.show(report)
    if report.failed:
        return None
    named = [
        resource
        for resource in loaded.resources
        if resource.document.source.name == paths[0] and resource.kind in (JOB, COMPONENT)
    ]
    subjects = named or [resource for resource in loaded.resources if resource.kind is JOB]
    if len(subjects) != 1:
        count = len(subjects) or "no"
        raise RunError(f"`{paths[0]}` has {count} jobs or components: name one")
    typed = {}
    for text in args.input or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InvalidValue(f"`{text}` is not NAME=VALUE", flag="--input")
        typed[name] = value
    return plan_job(loaded, subjects[0], typed)


@contextmanager
def _settings(session: Session, plan: JobPlan, args: JobRunArgs) -> Iterator[RunSettings]:
    """Yield the settings of a run; at the end, all its processes are ended."""
    import time
    import uuid

    from mlctl.rehearsal.process import Interpreter, find_python, swept
    from mlctl.running.commands import lock
    from mlctl.running.executor import RunSettings

    try:
        python = find_python(args.python)
    except OSError as error:
        raise InvalidValue(str(error), flag="--python") from None
    folder = (args.keep or Path(".mlctl", "runs", plan.name)).absolute()
    try:
        if args.keep is None:
            files.make_ignored_folder(Path(".mlctl"))
        descriptor = lock(folder)
    except OSError as error:
        why = f"cannot use the folder `{folder}`: {error.strerror or error}"
        raise InvalidValue(why, flag="--keep") from None
    mark, ends = uuid.uuid4().hex, time.monotonic() + (session.flags.timeout or _TIMEOUT)
    try:
        with swept(mark):
            yield RunSettings(
                folder,
                Interpreter(python, alone=False, memory=0, mark=mark, ends=ends, note=session.note),
                session.environment,
                at_once=args.parallelism or os.cpu_count() or 1,
                sample=args.sample,
                only=args.only,
                fresh=args.fresh,
                max_output=args.max_output,
            )
    finally:
        os.close(descriptor)


class _Progress:
    """Shows the steps while they run: as lines, with `--stream` their own, or as a table."""

    def __init__(self, session: Session, plan: JobPlan, folder: Path, args: JobRunArgs) -> None:
        self.session, self.plan, self.folder, self.args = session, plan, folder, args
        self.offsets: dict[str, int] = {}  # of the logs that are followed
        self.guard, self.over = Lock(), Event()

    @contextmanager
    def shown(self) -> Iterator[Callable[[str, NodeResult | None], None]]:
        """Yield the function to call when a node begins or has ended."""
        if self.args.json_:
            yield lambda _name, _result: None
            return
        if self.args.stream:
            follower = Thread(target=self._follow, daemon=True)
            follower.start()
            try:
                yield self._change
            finally:
                self.over.set()
                follower.join()
        elif self.session.quiet or not self.session.color(sys.stderr):
            yield self._change
        else:
            from mlctl.render.cloud.local_runs import viewing

            with viewing(sys.stderr, self.plan, self.folder) as view:
                yield view.change

    def _change(self, name: str, result: NodeResult | None) -> None:
        if result is None:
            self.session.note(f"{name}: running...")
            if self.args.stream:
                with self.guard:
                    self.offsets[name] = 0
            return
        with self.guard:
            self._print(name, to_end=True)
            self.offsets.pop(name, None)
        if result.why and not result.folder.exists():  # it was not started
            return
        ending = "as before" if result.reused else f"after {result.seconds:.1f} s"
        self.session.note(f"{name}: {result.status.value}, {ending}")

    def _follow(self) -> None:
        while not self.over.wait(_FOLLOW_S):
            with self.guard:
                for name in self.offsets:
                    self._print(name, to_end=False)

    def _print(self, name: str, *, to_end: bool) -> None:
        """Print the new lines; an incomplete one only at the end."""
        offset = self.offsets.get(name)
        if offset is None:
            return
        try:
            with (self.folder / name / "log.txt").open("rb") as log:
                log.seek(offset)
                data = log.read()
        except OSError:
            return
        whole = data if to_end else data[: data.rfind(b"\n") + 1]
        self.offsets[name] = offset + len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self.session.say(f"{name} | {line}")


def _report(
    session: Session,
    plan: JobPlan,
    results: dict[str, NodeResult],
    settings: RunSettings,
    args: JobRunArgs,
    paths: list[str],
) -> bool:
    """Report the results; return whether all steps completed."""
    from mlctl.render.cloud import local_runs
    from mlctl.running.model import RunStatus

    completed = all(result.status.is_well for result in results.values())
    if args.json_:
        session.out_data(json.dumps(local_runs.as_data(plan, results, settings.folder), indent=2))
        return completed
    session.out(local_runs.table(plan, results, settings.folder, color=session.color(sys.stdout)))
    for name, result in results.items():
        if result.status is RunStatus.FAILED:
            node = plan.nodes[name]
            words = [*paths, *_repeated_flags(args), "--keep", str(settings.folder)]
            words += ["--only", name] if len(plan.nodes) > 1 else []
            again = f"mlctl job run {shlex.join(words)}"
            session.say(local_runs.failure(node, result, again))
    return completed


def _repeated_flags(args: JobRunArgs) -> list[str]:
    """Return the flags for inputs and Python, which running a step again needs."""
    words = [word for text in args.input or () for word in ("--input", text)]
    words += ["--python", args.python] if args.python else []
    if args.environments != "python":
        words += ["--environments", args.environments]
    return words


def _rehearse(session: Session, paths: list[str], args: JobRunArgs) -> Exit:
    """Run the same code while its nodes are lost, by `mlctl rehearse`."""
    words = [sys.executable, "-P", "-m", "mlctl", "rehearse", paths[0], "--kills", str(args.kills)]
    words += ["--python", args.python] if args.python else []
    session.note(f"$ mlctl {' '.join(words[4:])}")
    return Exit(subprocess.run(words, check=False).returncode)  # noqa: S603 - mlctl itself
