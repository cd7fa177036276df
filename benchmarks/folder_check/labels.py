"""The labels of a results folder: no proof rests on them, but they have to be labels."""

from collections.abc import Iterator
from pathlib import Path

from boundmark.benchmarks.folder_check.documents import CheckedInstance, Shelf
from boundmark.benchmarks.folder_check.verdict import Verdict
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import read_labels


def check_labels(folder: Path, instances: Shelf[CheckedInstance]) -> Iterator[Verdict]:
    """Yield a verdict on each file: it holds one name for each node of an accepted instance."""
    for path in sorted(folder.glob("*.json")):
        owner = instances.accepted.get(path.stem)
        if owner is None:
            reason = f"its instance cannot be used: {instances.fault(path.stem)}"
            yield Verdict(str(path), reason)
            continue
        try:
            read_labels(path, problem=owner.problem, instance_sha256=path.stem, nodes=owner.nodes)
        except InvalidInputError as error:
            yield Verdict(str(path), str(error).removeprefix(f"{path}: "))
        else:
            yield Verdict(str(path), None)
