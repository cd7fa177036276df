"""The generator of the table of training in docs/how-far-from-optimal.md."""

import pandas as pd
from table_scripts import load_script


def test_both_forms_stand_side_by_side() -> None:
    """Whoever found cost and bound; graphs in the zoo's order, forms that did not run are said.

    What an older version of a method found does not count.
    """
    module = load_script("training_gaps")
    folded = '{"k": 4, "backward": "folded"}'
    rows = pd.DataFrame(
        [
            ("gpt-2-training", '{"k": 4}', "memetic", 2, 11_000_000, None),
            ("gpt-2-training", '{"k": 4}', "memetic", 1, 10_500_000, None),
            ("gpt-2-training", '{"k": 4}', "certify", 1, None, 10_000_000),
            ("gpt-2-training", folded, "certify", 1, 5_000_000, 5_000_000),
            ("bert-base-training", '{"k": 8}', "memetic", 2, 1_234_567, None),
        ],
        columns=[
            *("instance", "instance_params", "method", "method_version"),
            *("objective", "bound_certified"),
        ],
    ).astype({"objective": "Int64", "bound_certified": "Int64"})
    assert module.table(rows).splitlines() == [
        "| graph | k | separate: ms | gap | folded: ms | gap |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| bert-base-training | 8 | 1.235 | none | not measured |  |",
        "| gpt-2-training | 4 | 11.000 | 10.00 % | 5.000 | optimal |",
    ]
