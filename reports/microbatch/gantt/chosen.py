"""Which schedules a report draws."""

import pandas as pd

MOST_DRAWINGS = 12


def chosen_for_drawing(best: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `best_schedules` to draw, at most `MOST_DRAWINGS`.

    One per layout, with and without a given number of micro-batches: that with the smallest
    bubble rate, and of these with the least memory.
    """
    having = best[best["bubble_rate"].notna() & best["solution_sha256"].notna()]
    is_period = having["micro_batches"] == 0
    order = having.assign(is_makespan=~is_period).sort_values(
        ["is_makespan", "bubble_rate", "memory"], kind="stable"
    )
    first = order.drop_duplicates(["dataset", "instance", "is_makespan"])
    # In the order of the instances, periods before makespans.
    ordered = pd.concat([first[~first["is_makespan"]].sort_index(), first[first["is_makespan"]]])
    return ordered.drop(columns="is_makespan").head(MOST_DRAWINGS)
