"""Serve a scoring script unchanged: `init` once, then `run` for each request or mini-batch.

Orders are `{"init": true, "output": path, "logs": path}`, `{"request": text}` and `{"run":
[paths]}`, each with an `id` that the answer repeats. Nothing is watched and no clock is changed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time

from mlctl.rehearsal.worker.scorer import (
    context_of,
    import_script,
    install_driver,
    rows_of,
    traceback_of,
)

TYPE_CHECKING = False  # workers start often, so imports are kept few
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from mlctl.rehearsal.worker.pipes import Pipes

# The service separates the columns of a frame that `run` returns by spaces, but by commas for its
# own driver of MLflow models (azureml-examples: imagenet-classifier, heart-classifier-mlflow).
_FRAMES, _DRIVER = " ", ","
_MOST_TEXT = 4000  # characters of an error that are sent


class Server:
    """A process that has loaded a scoring script."""

    def __init__(self, pipes: Pipes, script: str) -> None:
        self.pipes, self.script = pipes, script
        self.separator = _DRIVER if os.path.basename(script) == "mlflow_model.py" else _FRAMES
        self.module: dict[str, Any] = {}

    def serve(self) -> NoReturn:
        """Answer orders until there are no more."""
        for line in self.pipes.control:
            order = json.loads(line)
            began = time.perf_counter()
            try:
                answer = self.obey(order)
            except BaseException as error:  # SystemExit too: the service counts it as a failure
                text = traceback_of(error)
                print(text, file=sys.stderr, end="")
                answer = {"failed": f"{type(error).__name__}: {error}"[:_MOST_TEXT], "trace": text}
            answer["seconds"] = time.perf_counter() - began
            sys.stdout.flush()
            self.pipes.send(id=order["id"], **answer)
        os._exit(0)

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Answer an order; raises what the script raises."""
        if "init" in order:
            # As on the service, a script's messages from INFO on are in the logs.
            logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
            install_driver(self.script, order)
            self.module = import_script(self.script)
            return {}
        run = self.module["run"]
        if "request" in order:
            return body_of(run(order["request"]))
        result = run(list(order["run"]), *context_of(run, order))
        rows = [] if result is None else rows_of(result, self.separator)
        length = len(result) if hasattr(result, "__len__") else len(rows)
        return {"rows": rows, "length": length}


def body_of(result: Any) -> dict[str, Any]:
    """Return what the inference server answers: the result as JSON, or a returned response.

    `run` may return an `AMLResponse`, which is one of Flask's (azureml-inference-server-http).
    """
    if hasattr(result, "get_data") and hasattr(result, "status_code"):
        kind = result.headers.get("content-type", "application/json")
        return {"body": result.get_data(as_text=True), "status": result.status_code, "type": kind}
    return {"body": json.dumps(result), "status": 200, "type": "application/json"}
