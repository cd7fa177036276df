"""Table of what each device does in the best plan of each instance."""

import pandas as pd

from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.measures import device_loads
from boundmark.reports.stored.parsed import read_parsed
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import rows

COLUMNS = [
    "dataset", "instance", "device", "parameters", "instance_sha256", "place", "latency",
    "computing", "communicating", "received", "memory", "operators",
]  # fmt: skip


def load_table(latency: pd.DataFrame, store: ResultStore) -> pd.DataFrame:
    """Return one row per device of each instance whose best plan is stored.

    Returns
    -------
    pandas.DataFrame
        Columns of the latency table; `place`, the device's number from 1 up; `computing` and
        `communicating`, in ticks; `received` and `memory`, in bytes; `operators` of which it
        computes a part.

    Raises
    ------
    StoreError
        If a stored instance or plan is damaged.
    """
    found = []
    for row in rows(latency):
        instance = read_parsed(store.instances, row.instance_sha256, SlicingInstance.from_json)
        plan = read_parsed(store.solutions, row.solution_sha256, SlicingPlan.from_json)
        if instance is None or plan is None:
            continue
        loads = device_loads(instance, plan)
        head = (row.dataset, row.instance, row.device, row.parameters, row.instance_sha256)
        found += [
            (*head, place + 1, row.latency, *(loads[column][place] for column in COLUMNS[7:]))
            for place in range(len(loads["computing"]))
        ]
    return pd.DataFrame(found, columns=COLUMNS)
