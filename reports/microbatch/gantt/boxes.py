"""The boxes of a schedule's drawing: one for each block on each of its devices."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule

COLUMNS = ["device", "start", "end", "micro_batch", "block", "kind", "repetition"]

# Beyond those that a schedule cannot do without, so that the pattern is seen to repeat.
MORE_REPETITIONS = 2


def schedule_boxes(instance: MicrobatchInstance, schedule: Schedule) -> pd.DataFrame:
    """Return the boxes of a drawing, by device and time.

    If the number of micro-batches is open, it is the schedule's least one and two more.

    Returns
    -------
    pandas.DataFrame
        Columns `device`, `start`, `end`, `micro_batch`, `block`, `kind`, and `repetition`: the
        number of the repetition that a block is part of, missing in warm-up and cool-down.
    """
    layout, repetend = instance.layout, schedule.repetend
    count = instance.micro_batches
    if not count:
        count = schedule.micro_batches + (MORE_REPETITIONS if repetend else 0)
    starts = schedule.starts_for(count)
    more = count - schedule.micro_batches
    parts = []
    for number, block in enumerate(layout.blocks):
        micro_batch = np.arange(count)
        box = pd.DataFrame({"start": starts[:, number], "micro_batch": micro_batch})
        box["end"] = box["start"] + block.duration
        box["block"], box["kind"] = number, block.kind
        repetition = pd.array(
            micro_batch - (repetend.members[number] if repetend else count), dtype="Int64"
        )
        box["repetition"] = repetition
        box.loc[~box["repetition"].between(0, more), "repetition"] = pd.NA
        parts += [box.assign(device=device) for device in block.devices]
    return pd.concat(parts)[COLUMNS].sort_values(["device", "start"]).reset_index(drop=True)


def repetend_spans(boxes: pd.DataFrame) -> Mapping[int, tuple[int, int]]:
    """Return when the first repetition begins on each device, and when the second one does.

    On a device, the two are a period apart. Devices without a second repetition have no span.
    """
    begins = boxes.dropna(subset="repetition").groupby(["device", "repetition"])["start"].min()
    first, second = (begins[begins.index.get_level_values(1) == at].droplevel(1) for at in (0, 1))
    return {int(device): (int(first[device]), int(second[device])) for device in second.index}
