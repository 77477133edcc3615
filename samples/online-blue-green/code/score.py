"""Answers requests: `{"data": [{"age": 61, "pressure": 150}]}` to a list of risks."""

import json
import os
from pathlib import Path

weights = {}


def init():
    """Read the model, once, when a container starts."""
    (found,) = Path(os.environ["AZUREML_MODEL_DIR"]).rglob("risk.json")
    weights.update(json.loads(found.read_text(encoding="utf-8")))


def run(data):
    """The risk of each patient of a request."""
    return [_risk(patient) for patient in json.loads(data)["data"]]


def _risk(patient):
    told = patient["age"] * weights["age"] + patient["pressure"] * weights["pressure"]
    return {"risk": round(told, 3), "high": told > weights["threshold"]}
