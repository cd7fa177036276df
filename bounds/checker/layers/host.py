"""The space `host`: how many layers keep a part of themselves in the memory of the host.

The table is an instance of `layers` in which every layer is whole, and what changes for a layer
that is split between its device and the host: it then takes `split_time` on its device, the host's
part and what passes between them included, and `split_bytes` of its weights are in the host's
memory instead of the device's. Configuration N, from 0 to `most_split`, has the first N of the
layers behind the first of `outer` split, as tools have it. The host has `room` bytes for these; a
device of its own among the devices, of a type in `host`, has what is left of them. If
`split_joined` is 1, split layers are in one stage with all before them.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_COST, Rejected, fields, number, numbers
from .instance import FIELDS, OPTIONAL_FIELDS, read_instance
from .questions import Configuration, Question

OWN_FIELDS = {"host", "room", "split_time", "split_bytes", "most_split", "split_joined"}


def read(document: dict[str, Any]) -> Question:
    """Return the question of a table; raise `Rejected` if it is malformed."""
    document = fields(document, "the instance", FIELDS | OWN_FIELDS, OPTIONAL_FIELDS)
    whole = {name: document[name] for name in document if name not in OWN_FIELDS}
    # Nothing need fit yet; all else has to be as in an instance.
    read_instance(whole, is_room_enough=False)
    n, types = len(whole["weights"]), len(whole["capacity"])
    host = numbers(document["host"], "host of the instance", 0, types - 1)
    room = number(document["room"], "room of the instance", 0, LARGEST_COST)
    if any(u >= w for u, w in itertools.pairwise(host)):
        raise Rejected("host of the instance is not ascending")
    if any(whole["devices"].count(kind) > 1 for kind in host) or len(host) > 1:
        raise Rejected("the instance has more than one device that is the host")
    times = document["split_time"]
    if type(times) is not list or len(times) != types:
        raise Rejected("split_time of the instance is not a list for each type of device")
    times = [numbers(row, "an entry of split_time", 0, LARGEST_COST) for row in times]
    moved = numbers(document["split_bytes"], "split_bytes of the instance", 0, LARGEST_COST)
    before, behind = whole["outer"]
    most = number(document["most_split"], "most_split of the instance", 0, n - before - behind)
    together = number(document["split_joined"], "split_joined of the instance", 0, 1)
    if any(len(row) != n for row in (*times, moved)):
        raise Rejected("split_time or split_bytes of the instance is not as long as it should be")
    if any(part > all_ for part, all_ in zip(moved, whole["weights"], strict=True)):
        raise Rejected("split_bytes of the instance are more than the weights of a layer")
    hold(100 * n * (types + 2))

    def configurations() -> Iterator[Configuration]:
        for count in range(most + 1):
            end = before + count
            spend(4 * n * (types + 2))
            left = room - sum(moved[before:end])
            if left < 0:
                yield Configuration((count,), None)
                continue
            changed = {
                "time": [
                    [*row[:before], *split[before:end], *row[end:]]
                    for row, split in zip(whole["time"], times, strict=True)
                ],
                "weights": [
                    size - (moved[at] if before <= at < end else 0)
                    for at, size in enumerate(whole["weights"])
                ],
                "capacity": [
                    left if kind in host else size for kind, size in enumerate(whole["capacity"])
                ],
            }
            if together and count:
                changed["joined"] = sorted({*whole["joined"], *range(1, end)})
            yield Configuration((count,), {**whole, **changed})

    return Question(configurations)
