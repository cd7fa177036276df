"""How much less memory orders take than the model file's own ([MEMORIANOVA24], Section 4)."""

import pandas as pd

from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.stored.parsed import read_parsed

KEY = ["param_metric", "treatment", "dataset", "instance", "instance_sha256", "parameters"]


def saving_table(results: ProblemResults) -> pd.DataFrame:
    """Return the best verified order of each method and instance.

    Returns
    -------
    pandas.DataFrame
        Columns `param_metric`, `treatment` (the other parameters), `dataset`, `instance`,
        `instance_sha256`, `parameters`, `method`, `objective`, `solution_sha256`; `default`, the
        objective of the default order, computed from the stored instance; `saved`,
        ``1 - objective / default``; `bound`, the best certified one, and `savable`,
        ``1 - bound / default``: no order saves more.
    """
    solved = results.tasks[results.tasks["objective"].notna()]
    best = solved.sort_values(["objective", "seed"], kind="stable")
    best = best.drop_duplicates(["instance_sha256", "method"])
    best["treatment"] = [_treatment(text) for text in best["parameters"]]
    order = [*KEY, "method"]
    table = best[[*order, "objective", "solution_sha256"]].sort_values(order)
    defaults = {sha: _default(results, sha) for sha in table["instance_sha256"].unique()}
    table["default"] = table["instance_sha256"].map(defaults).astype("Int64")
    bounds = results.certified.set_index("instance_sha256")["bound"]
    table["bound"] = table["instance_sha256"].map(bounds).astype("Int64")
    reference = table["default"].where(table["default"] > 0).astype("float64")
    table["saved"] = 1 - table["objective"].astype("float64") / reference
    table["savable"] = 1 - table["bound"].astype("float64") / reference
    return table.reset_index(drop=True)


def _treatment(parameters: str) -> str:
    """Return parameters as a text without the metric."""
    others = (part for part in parameters.split(", ") if not part.startswith("metric="))
    return ", ".join(others)


def _default(results: ProblemResults, sha256: str) -> int | None:
    instance = read_parsed(results.store.instances, sha256, OrderingInstance.from_json)
    if instance is None:
        return None
    return instance.objective(ExecutionOrder(instance.graph.dag.topological_order))


def best_orders(savings: pd.DataFrame) -> pd.DataFrame:
    """Return the row of the best method of each instance, the first by name of equal ones."""
    by_cost = savings.sort_values(["objective", "method"], kind="stable")
    return by_cost.drop_duplicates("instance_sha256").sort_index()


def mean_savings(savings: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over instances of what each method saves, by metric and treatment.

    Returns
    -------
    pandas.DataFrame
        Columns `param_metric`, `treatment`, `method`, `instances`, `saved`.
    """
    by = ["param_metric", "treatment", "method"]
    grouped = savings.dropna(subset="saved").groupby(by, as_index=False)
    means: pd.DataFrame = grouped.agg(instances=("saved", "size"), saved=("saved", "mean"))
    return means
