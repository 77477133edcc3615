"""The rules of rehearsals: what running the user's code under losses can show. MLC6xx."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

_LOW_PRIORITY = "Use low priority VMs for batch deployments"
_SCRIPTS = "Author scoring scripts for batch deployments"
_HI_ML = "hi-ml: using low priority machines for training"
_AGAIN = (
    "A mini-batch whose node is lost is run again from its beginning, on another worker. What the"
    " lost attempt has written to the output folder is still there."
)

INPUT_LOST = Rule(
    "MLC601",
    "input-lost",
    Severity.ERROR,
    "inputs that are scored in a calm run, and never when a node is lost",
    f"{_AGAIN} A script that marks its inputs as done, or as taken, before their rows are reported"
    " passes over them the second time, and nobody notices.",
    "Let `run` depend on its mini-batch alone; mark nothing, or mark what is whole by renaming it"
    " into place.",
    _LOW_PRIORITY,
)
INPUT_DOUBLED = Rule(
    "MLC602",
    "input-doubled",
    Severity.ERROR,
    "inputs whose rows are returned twice when a node is lost",
    f"{_AGAIN} A script that returns what it finds in a journal of its own finds the rows of the"
    " lost attempt, too.",
    "Return the rows of the mini-batch that was given, and nothing that an earlier attempt left.",
    _LOW_PRIORITY,
)
APPENDED_ROWS = Rule(
    "MLC603",
    "appended-rows",
    Severity.ERROR,
    "a file in the output folder that is appended to, so that a second attempt doubles rows",
    f"{_AGAIN} A second attempt appends its rows behind those of the first.",
    "Return the rows and let `output_action: append_row` write them; or write a file of its own for"
    " each input, whole.",
    _LOW_PRIORITY,
)
LEFT_BEHIND = Rule(
    "MLC604",
    "left-behind",
    Severity.ERROR,
    "files of a lost attempt that stay in the output folder beside those of the next",
    f"{_AGAIN} Where names differ from attempt to attempt (a random id, a time, a process id), both"
    " files stay, and who reads the folder counts the rows twice.",
    "Name files by the inputs, so that the second attempt replaces what the first has left.",
    _LOW_PRIORITY,
)
HALF_WRITTEN = Rule(
    "MLC605",
    "half-written",
    Severity.ERROR,
    "a file that was half written when the node was lost, and is taken for whole",
    f"{_AGAIN} A file that is there is no proof that it is whole: its writer may have been killed"
    " in between.",
    "Write under another name and rename (`os.replace`) once the file is whole; or write it again"
    " each time.",
    _LOW_PRIORITY,
)
SHARED_NAME = Rule(
    "MLC606",
    "shared-name",
    Severity.ERROR,
    "one name in the output folder that several mini-batches write",
    "All workers of all nodes share the output folder. A name that does not come from the inputs is"
    " written by each mini-batch, and the last one wins: the rows of the others are gone, with or"
    " without a loss.",
    "Put the name of the input, or of the first one of the mini-batch, into the file's name.",
    _SCRIPTS,
)
STATEFUL = Rule(
    "MLC607",
    "depends-on-state",
    Severity.ERROR,
    "results that depend on what the worker did before",
    "Which worker takes which mini-batch, and in which order, is chance, and a new worker begins"
    " with `init`. What `run` keeps in a global from one mini-batch to the next changes results.",
    "Compute what is the same for all mini-batches in `init`; keep nothing else.",
    _SCRIPTS,
)
COMPOSED = Rule(
    "MLC608",
    "depends-on-mini-batch",
    Severity.ERROR,
    "results that depend on which other inputs are in the mini-batch",
    "How inputs are put together is up to `mini_batch_size` and to the listing of the folder. A"
    " position within the mini-batch, its length or its mean are nothing that an input has.",
    "Score each input by itself; take means and bounds from the training data, in `init`.",
    _SCRIPTS,
)
CHANCE = Rule(
    "MLC609",
    "depends-on-chance",
    Severity.WARNING,
    "results that differ between two runs of the same, without any loss",
    "A mini-batch that runs again gives other rows than before: by the clock, by random numbers"
    " without a seed, by a process id, by the order of a set. Nobody can tell a doubled row from a"
    " new one then.",
    "Seed random numbers by the input's name; take times from the job, not from the clock.",
    _SCRIPTS,
)
SHORT_RESULT = Rule(
    "MLC610",
    "short-result",
    Severity.ERROR,
    "a `run` that returns nothing, or fewer elements than its mini-batch has files",
    "The service counts the elements that `run` returns as succeeded items. What is missing counts"
    " as failed, against `error_threshold`; a `run` that returns nothing has failed, also under"
    " `summary_only`.",
    "Return one element for each file: with `summary_only` its name is enough.",
    _SCRIPTS,
)
SWALLOWED = Rule(
    "MLC611",
    "swallowed-exception",
    Severity.WARNING,
    "an input that cannot be read, and still counts as succeeded",
    "The handler takes the exception and the result is as long as the mini-batch, so the service"
    " counts a success: `error_threshold` never sees it, nothing is tried again, and a failing disk"
    " looks like a good job.",
    "Leave failed inputs out of the result, or let the exception go.",
    _SCRIPTS,
)
SLOW_INIT = Rule(
    "MLC612",
    "slow-init",
    Severity.WARNING,
    "an `init` that takes longer than the timeout of a mini-batch",
    "Each new node runs `init` again, in each of its workers. Where that takes longer than a"
    " mini-batch may, most of what a preempted node costs is `init`.",
    "Load less, load from the model's folder, or raise `retry_settings.timeout`.",
    _SCRIPTS,
)
SLOW_RUN = Rule(
    "MLC613",
    "slow-run",
    Severity.ERROR,
    "a mini-batch that takes longer than `retry_settings.timeout`",
    "The service stops it, tries it `max_retries` times, and each try takes as long. In the end its"
    " files have failed.",
    "Lower `mini_batch_size`, or raise `retry_settings.timeout` (30 seconds unless given).",
    "Batch deployment YAML schema",
)
OUTSIDE = Rule(
    "MLC614",
    "written-outside",
    Severity.WARNING,
    "files that are written outside the output folder",
    "What is written to the working folder, or anywhere else on the node, goes with the node. What"
    " is written over the input or the model changes it for all who come after.",
    "Write below `AZUREML_BI_OUTPUT_PATH`; take scratch files from `tempfile`.",
    _SCRIPTS,
)
LEFT_LOCK = Rule(
    "MLC615",
    "left-lock",
    Severity.ERROR,
    "a lock or a port that another attempt has, and that stops the next one",
    f"{_AGAIN} Nobody takes away a lock whose owner was killed: no `finally` runs, no handler. A"
    " port with a number belongs to one of a node's workers, and to what that leaves running.",
    "Need no lock: write files of your own. On the node's own disk a lock file stays, too, where"
    " only the worker is killed, as at a timeout; `fcntl.flock` goes with its process. Take port 0,"
    " which is a free one.",
    _LOW_PRIORITY,
)
GROWING = Rule(
    "MLC616",
    "growing-memory",
    Severity.WARNING,
    "memory that grows from one mini-batch to the next",
    "A worker scores mini-batches until the input is through. What it keeps of each fills the node,"
    " which kills the worker, again and again.",
    "Keep nothing of a mini-batch; look for lists and caches in globals.",
    _SCRIPTS,
)
FAILING = Rule(
    "MLC617",
    "failing-mini-batch",
    Severity.ERROR,
    "mini-batches that fail without any loss",
    "They would fail on the service, too. What losses do can be judged only of what works without.",
    "Correct the script, or leave the input out.",
    _SCRIPTS,
)
EATS_INPUT = Rule(
    "MLC618",
    "changed-input",
    Severity.ERROR,
    "a script that changes, moves or removes its own inputs",
    f"{_AGAIN} What it has moved away is not there for the second attempt. (On the service inputs"
    " are mounted for reading, and the first attempt fails already.)",
    "Leave the inputs where they are.",
    _SCRIPTS,
)

FROM_ZERO = Rule(
    "MLC651",
    "starts-over",
    Severity.ERROR,
    "a training that begins at its first step although a checkpoint is there",
    "A preempted job starts again on another node with what is in `outputs`. Each preemption then"
    " costs all that was done, and a job longer than the time between two of them never ends.",
    "At the start look for the newest checkpoint in `outputs`, and go on from it.",
    _HI_ML,
)
HALF_CHECKPOINT = Rule(
    "MLC652",
    "half-checkpoint",
    Severity.ERROR,
    "a training that fails on, or goes on from, a checkpoint that was half written",
    "A node can go while a checkpoint is written, all the more so with big ones. What starts again"
    " finds the file, and its end is missing.",
    "Write under another name and rename (`os.replace`) once it is whole; fall back to the one"
    " before where reading fails.",
    _HI_ML,
)
STATE_ELSEWHERE = Rule(
    "MLC653",
    "state-outside-outputs",
    Severity.ERROR,
    "checkpoints or state that a training keeps outside `outputs`",
    "Only `outputs` and `logs` come back with the job. The rest of the node's disk is gone.",
    "Write checkpoints below `outputs`, or to an output of the job that is mounted.",
    _HI_ML,
)
METRIC_STEPS = Rule(
    "MLC654",
    "metric-steps",
    Severity.WARNING,
    "metric steps that are there twice, or missing, after a preemption",
    "A job that starts again appends its metrics: the steps since the last checkpoint are there"
    " twice, and the curve jumps back. Steps that are missing were never computed.",
    "Log with the step as key, or drop the metrics behind the checkpoint when going on from it.",
    _HI_ML,
)
RESTART_FAILS = Rule(
    "MLC657",
    "fails-to-restart",
    Severity.ERROR,
    "a training that fails when it starts again on what it has left",
    "A preempted job starts again with the same `outputs` and the same run of MLflow. Folders that"
    " are there already, parameters that were logged with another value, a lock: what was never in"
    " the way of the first life stops the second one, and all that come after it.",
    "Take what is there as good: `mkdir(exist_ok=True)`, open files for writing again, log the same"
    " values.",
    _HI_ML,
)
OTHER_MODEL = Rule(
    "MLC655",
    "other-model",
    Severity.ERROR,
    "a final model that differs from that of a run without any loss",
    "A checkpoint without the optimizer's state, the order of the data or the random generator"
    " makes another training of it, silently.",
    "Save and load all that the next step depends on: weights, optimizer, schedule, epoch, random"
    " state.",
    _HI_ML,
)
RARE_CHECKPOINTS = Rule(
    "MLC656",
    "rare-checkpoints",
    Severity.WARNING,
    "checkpoints so rare that the expected time doubles at the rate of losses",
    "What was done since the last checkpoint is done again. With a rate r and a time s between two"
    " checkpoints a stretch takes (exp(r s) - 1) / (r s) times as long as without losses.",
    "Write them more often: Young's interval is the square root of 2 times the time to write one"
    " over the rate.",
    "Young, A first order approximation to the optimum checkpoint interval, CACM 1974",
)

REHEARSAL_RULES = tuple(value for value in dict(globals()).values() if isinstance(value, Rule))
