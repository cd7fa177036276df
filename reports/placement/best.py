"""The best placement of each instance, with what is certified of it."""

import pandas as pd

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore

NAMES = ["dataset", "instance", "device", "parameters", "instance_sha256"]


def best_placements(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instance of which some placement is verified.

    Returns
    -------
    pandas.DataFrame
        `dataset`, `instance`, `device`, `parameters`, `instance_sha256`; `method`, `objective` and
        `solution_sha256` of the best task, the first method by name if several are; `bound`, `gap`
        and `optimal` of the certified table. In the order of that table.
    """
    solved = tasks[tasks["objective"].notna() & tasks["solution_sha256"].notna()]
    order = solved.sort_values(["objective", "method", "seed"], kind="stable")
    best = order.drop_duplicates("instance_sha256")
    best = best[[*NAMES, "method", "objective", "solution_sha256"]]
    known = certified[["instance_sha256", "bound", "gap", "optimal"]]
    return known.merge(best, on="instance_sha256")[
        [*NAMES, "method", "objective", "solution_sha256", "bound", "gap", "optimal"]
    ].reset_index(drop=True)


def stored_placement(
    store: ResultStore, instance_sha256: str, solution_sha256: str
) -> tuple[PlacementInstance, PlacementSchedule] | None:
    """Return an instance and a schedule of the folder, None if one of them is not there.

    Raises
    ------
    StoreError
        If one of them is damaged.
    """
    instance = read_document(store.instances, instance_sha256)
    solution = read_document(store.solutions, solution_sha256)
    if instance is None or solution is None:
        return None
    try:
        return PlacementInstance.from_json(instance), PlacementSchedule.from_json(solution)
    except BoundmarkError as error:
        raise StoreError(f"instance {instance_sha256}: {error}") from error
