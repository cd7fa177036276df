"""Solutions over the simple lower bound, in the form of [MTPP24], Table 2."""

from dataclasses import replace

import pandas as pd

from boundmark.reports.pages.page import Section
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.solutions import Reference, solution_section
from boundmark.reports.tables.parameters import per_instance

SIMPLE_METHODS = ("max-work", "mean-work")


def reference_bounds(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the bound L that solutions are divided by, one row per instance that has one.

    L is the simple lower bound max(max work, mean work), if both of its parts are certified, else
    the best certified bound.

    Returns
    -------
    pandas.DataFrame
        Columns `instance_sha256`, `bound` (above 0) and `is_simple`.
    """
    simple = per_instance(tasks[tasks["method"].isin(SIMPLE_METHODS)], "bound_certified")
    simple = simple.reindex(columns=list(SIMPLE_METHODS))
    parts = simple.max(axis=1).where(simple.notna().all(axis=1))
    best = certified.set_index("instance_sha256")["bound"].astype("float64")
    parts = parts.reindex(best.index)
    bounds = pd.DataFrame({"bound": parts.fillna(best), "is_simple": parts.notna()})
    return bounds[bounds["bound"] > 0].reset_index()


DEFINITION = (
    "the simple lower bound max(max work, mean work) of Archer et al. (ICML 2024), Lemma 3.3"
)

PAPER_FORM = (
    "Costs over a simple lower bound, as in Table 2 of Archer et al. (ICML 2024), for comparison "
    "with the literature. These quotients do not show the distance from the optimum, which may be "
    "far above that bound: solutions that are proven optimal can have quotients of 5."
)


def paper_form_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of solutions and their plot; None without solutions."""
    having = results.certified[results.certified[results.grouping.column].notna()]
    bounds = tables["reference_bounds"]
    bounds = bounds[bounds["instance_sha256"].isin(having["instance_sha256"])]
    reference = Reference("the simple lower bound", DEFINITION, _fallback(bounds))
    section = solution_section(results, tables, reference)
    return section and replace(section, title="Paper form of solutions", paragraphs=(PAPER_FORM,))


def _fallback(bounds: pd.DataFrame) -> str:
    other = int((~bounds["is_simple"]).sum())
    if other == 0:
        return "Every one of these instances has both parts of L certified."
    return (
        f"On {other} of {len(bounds)} instances a part of L is not certified, and L is the best "
        "certified bound."
    )
