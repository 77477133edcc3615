"""Writes its report into the folder that it runs in, which goes with the node."""

from pathlib import Path


def run(mini_batch):
    for path in map(Path, mini_batch):
        report = f"{len(path.read_text().split())} words\n"
        Path(f"report-{path.name}").write_text(report)  # MLC614
    return [Path(path).name for path in mini_batch]
