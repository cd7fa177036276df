"""Table of instances: best verified solution, best certified bound, and the gap."""

import numpy as np
import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.dictionary import columns_of
from boundmark.reports.tables.parameters import with_parameter_columns
from boundmark.reports.tables.rows import best_rows
from boundmark.reports.tables.tasks import with_names


def certified_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return the best cost, the best bound and the gap of each instance of results."""
    return certified_of_tasks(with_names(results))


def certified_of_tasks(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instance, sorted by problem, data set, instance and parameters.

    `objective` is the best verified one and `bound` the best certified one, each with the method
    that found it (the fastest if several did, see `best_rows`); `claimed` is the largest claim.
    `gap` is ``objective / bound - 1``, missing if either is missing or the bound is 0 and the
    objective is not. `optimal` says that objective and bound are equal. One column per parameter of
    instances follows, e.g. `param_devices`.

    Parameters
    ----------
    tasks
        From `with_names`.

    Raises
    ------
    StoreError
        If a verified objective is below a certified bound of the same instance.
    """
    upper, lower, claims = (
        best_rows(tasks, column, highest=column != "objective").set_index("instance_sha256")
        for column in ("objective", "bound_certified", "bound_claimed")
    )
    _refuse_contradiction(upper, lower)
    table = tasks.drop_duplicates("instance_sha256").set_index("instance_sha256")
    table["objective"] = upper["objective"]
    table["objective_method"] = upper["method"]
    table["bound"] = lower["bound_certified"]
    table["bound_method"] = lower["method"]
    table["bound_kind"] = lower["bound_kind"]
    table["claimed"] = claims["bound_claimed"]
    table["claimed_method"] = claims["method"]
    table["optimal"] = (table["objective"] == table["bound"]).fillna(False).astype(bool)
    ratio = table["objective"].astype("float64") / table["bound"].where(table["bound"] > 0).astype(
        "float64"
    )
    table["gap"] = np.where(table["optimal"], 0.0, ratio - 1)
    # Instances say what a tick is, tasks do not: see `with_ticks`.
    columns = [name for name in columns_of("certified") if name != "tick"]
    return with_parameter_columns(table.reset_index()[columns])


def _refuse_contradiction(upper: pd.DataFrame, lower: pd.DataFrame) -> None:
    both = upper.join(lower.add_suffix("_lower"), how="inner").sort_index()
    wrong = both[(both["objective"] < both["bound_certified_lower"]).astype(bool)]
    if len(wrong) == 0:
        return
    sha256, row = str(wrong.index[0]), wrong.iloc[0]
    raise StoreError(
        f"instance {row['instance']} {row['instance_params']} ({sha256}): task {row['task_id']} "
        f"({row['method']}) has a verified objective of {row['objective']}, below the certified "
        f"bound of {row['bound_certified_lower']} of task {row['task_id_lower']} "
        f"({row['method_lower']}); one of the two is wrong, so nothing is published."
    )


# A claim may exceed the optimum by a solver's tolerance. Beyond this it contradicts a solution.
CLAIM_TOLERANCE = 1e-6


def contradicted_claims(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks whose claim is above the best verified objective of their instance."""
    upper = certified.set_index("instance_sha256")["objective"].astype("float64")
    wrong = tasks[tasks["bound_claimed"].notna() & ~is_tenable(tasks, upper)]
    return wrong.assign(best_objective=wrong["instance_sha256"].map(upper))[
        columns_of("contradicted_claims")
    ]


def is_tenable(tasks: pd.DataFrame, upper: "pd.Series[float]") -> "pd.Series[bool]":
    """Return which tasks have no claim above the objective of their instance."""
    limit = tasks["instance_sha256"].map(upper).astype("float64") * (1 + CLAIM_TOLERANCE)
    return ~(tasks["bound_claimed"] > limit)
