"""The words that all tables use."""

from boundmark.reports.pages.page import Section


def definitions() -> Section:
    """Return the words that all tables use."""
    return Section(
        "Definitions",
        paragraphs=(
            "UB: cost of a solution that an independent checker evaluated. LB: lower bound whose "
            "certificate the checker accepted in exact integer arithmetic. Claimed bound: "
            "what a solver reports in floating point without a certificate, never mixed with "
            "certified ones. Costs are in ticks, the integer time unit of the instance.",
            "Gap: UB/LB - 1. Means of ratios are geometric: GM(UB/LB) - 1 is the mean gap. Times "
            "are averaged geometrically with a shift of 1 s. Seeds are averaged within an "
            "instance before anything else.",
            "Performance profile (Dolan and Moré, 2002): the fraction of instances on which a "
            "method's solution is within a factor of the best one found; a failure is within none.",
            "The best value of a column is marked where all methods delivered on all n instances. "
            "The report refuses to publish if a verified UB is below a certified LB.",
        ),
    )
