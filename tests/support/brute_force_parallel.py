"""Tiny questions about parallelism, and what each configuration costs by definition."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

from brute_force_layers import assignments, cost

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import LayerChain, LayersInstance

Table = dict[str, Any]
Name = tuple[int, ...]

GOALS = ("decode", "prefill", "training")


def replica(table: Table, tensor: int, data: int) -> list[tuple[int, int]]:
    """Return the kind and host of each group of a replica, after a look that all of them exist."""
    found = []
    classes = {tuple(host): table["hosts"].count(host) for host in table["hosts"]}
    for at, ((kind, count), alike) in enumerate(classes.items()):
        groups = count // tensor
        # Replicas get whole hosts while there are enough, then equal parts of one.
        hosts = alike // data
        in_each = groups if hosts else groups // math.ceil(data / alike)
        assert data * max(1, hosts) * in_each <= alike * groups
        found += [(kind, 100 * at + host) for host in range(max(1, hosts)) for _ in range(in_each)]
    return found


def names(table: Table) -> Iterator[tuple[Name, list[tuple[int, int]]]]:
    """Yield all configurations, and the groups of a replica."""
    for t, (lowest, highest) in zip(table["tensor"], table["stages"], strict=True):
        for d in range(1, 1 + sum(count // t for _, count in table["hosts"])):
            groups = replica(table, t, d)[:highest]
            if not table["data"][0] <= d <= table["data"][1] or len(groups) < lowest:
                continue
            total, sizes = table["sequences"], table["batches"]
            if not groups or (table["goal"] == "decode" and 0 < total < d):
                continue
            if table["goal"] == "prefill":
                found = [(len(groups), b) for b in sizes]
            elif table["goal"] == "training":
                found = [(m, b) for b in sizes for m in range(1, 1 + total) if d * m * b == total]
            elif not total:
                found = [(m, b) for m in range(1, 1 + len(groups)) for b in sizes]
            else:
                own = math.ceil(total / d)
                least = {math.ceil(own / m): m for m in range(len(groups), 0, -1)}
                found = [(m, b) for b, m in least.items() if not sizes or b in sizes]
            for e in range(1, d + 1):
                if d % e or (t * e if e > 1 else 1) not in (table["experts"] or [1]):
                    continue
                if hosts_of_sharers(table, d, e):
                    for m, b in found:
                        for r in table["recomputes"]:
                            yield (t, d, e, m, b, r), groups


def hosts_of_sharers(table: Table, data: int, experts: int) -> int:
    """Return on how many hosts replicas that share experts are; 0 if unevenly."""
    in_each = max(1, math.ceil(data / len(table["hosts"])))
    # Replicas are in the hosts in turn, each on hosts of its own while there are enough.
    shares = {
        tuple(Counter(one // in_each for one in range(first, first + experts)).values())
        for first in range(0, in_each * math.lcm(in_each, experts), experts)
    }
    # As many on each of them, for all of these replicas.
    found = shares.pop()
    return 0 if shares or len(set(found)) > 1 else len(found)


def instance(table: Table, name: Name, groups: list[tuple[int, int]]) -> LayersInstance | None:
    """Return the instance of a configuration, each group a type; None if a layer fits nowhere."""
    t, _, _, m, _, _ = name
    form = form_of(table, name)
    n, goal = len(form["weights"]), table["goal"]
    link = [
        [
            table["inside"][kind] if host == other else table["between"][kind][to]
            for to, other in groups
        ]
        for kind, host in groups
    ]
    is_mixed = len({tuple(host) for host in table["hosts"]}) > 1
    try:
        chain = LayerChain(
            time=[form["time"][kind] for kind, _ in groups],  # type: ignore[arg-type]
            weights=form["weights"], held=form["held"], tied=tuple(map(tuple, form["tied"])),  # type: ignore[arg-type]
            joined=tuple(table["joined"]), transfer=form["transfer"], link=link,  # type: ignore[arg-type]
            devices=tuple(range(len(groups))),
            capacity=[  # type: ignore[arg-type]
                max(0, t * table["room"][kind] - form["spare"]) for kind, _ in groups
            ],
            sizes=form["weights"], outer=(0, 0), names=tuple(f"l{at}" for at in range(n)),
            device_names=tuple(f"g{at}" for at in range(len(groups))),
        )  # fmt: skip
    except InvalidInputError:
        return None
    goals = {"decode": "round", "prefill": "bottleneck", "training": "makespan"}
    flights = {"decode": m, "prefill": "stages", "training": "1f1b"}
    return LayersInstance(chain, goals[goal], "free" if is_mixed else "given", m, flights[goal])


def least_costs(table: Table) -> dict[Name, float]:
    """Return the least cost of each configuration; infinity if nothing fits or is fast enough."""
    found = {}
    for name, groups in names(table):
        sample = instance(table, name, groups)
        alone = float("inf")
        if sample is not None:
            costs = [cost(sample, ends, used) for ends, used in assignments(sample)]
            alone = min((one for one in costs if one is not None), default=alone)
        if table["limit"] and alone > table["limit"]:
            alone = float("inf")
        if not table["sequences"] and alone < float("inf"):
            _, d, _, m, b, _ = name
            per = d * b * (m if table["goal"] == "decode" else 1)
            alone = int(alone) * table["unit"] // per
        if table["goal"] == "training" and alone < float("inf"):
            alone += math.ceil(sync_of(table, name) / len(groups))
        found[name] = alone
    return found


def form_of(table: Table, name: Name) -> Table:
    """Return what layers take in a configuration."""
    t, d, e, _, b, r = name
    wanted = (t, e, hosts_of_sharers(table, d, e), b, r, d if table["goal"] == "training" else 0)
    keys = ("tensor", "experts", "spread", "batch", "recomputes", "data")
    (form,) = (one for one in table["forms"] if tuple(one[key] for key in keys) == wanted)
    return form


def sync_of(table: Table, name: Name) -> int:
    """Return the ticks to sum up all gradients over the replicas of a configuration."""
    return int(form_of(table, name)["sync"])


def drawn(dice: random.Random, most: int = 5) -> Table:
    """Return a random table with few devices and layers."""
    goal, n, kinds = dice.choice(GOALS), dice.randint(1, most), dice.choice((1, 1, 2))
    if kinds == 1:
        hosts = [[0, dice.choice((1, 2, 4))]] * dice.randint(1, 2)
    else:
        both = [[kind, dice.choice((1, 2))] for kind in range(kinds)]
        hosts = [host for host in both for _ in range(dice.randint(1, 2))]
    devices = sum(count for _, count in hosts)
    total = dice.choice((1, 2, 3, 4, 6))
    if goal == "prefill" or (goal == "decode" and dice.random() < 0.3):
        total = 0
    sizes = sorted(dice.sample(range(1, 5), dice.randint(1, 3)))
    if goal == "training":
        sizes = [b for b in (1, 2, 3) if total % b == 0]
    elif total:
        sizes = [] if dice.random() < 0.8 else sizes
    links, tensor = dice.randint(1, 3), sorted({1, *dice.sample((2, 3), dice.randint(0, 2))})
    weights, experts = [dice.randint(0, 9) for _ in range(n)], []
    if kinds == 1 and dice.random() < 0.4:
        experts = sorted(dice.sample((1, 2, 3, 4), dice.randint(1, 4)))
    sharers = [(1, 1)]
    if experts:
        sharers = [(e, s) for e in range(1, devices + 1) for s in range(1, len(hosts) + 1)]
    again = dice.choice(([0], [1], [0, 1])) if goal == "training" else [0]
    syncs = goal == "training" and dice.random() < 0.7
    tied = []
    if n > 2 and dice.random() < 0.3:
        i, j = sorted(dice.sample(range(n), 2))
        tied = [[i, j, min(weights[i], weights[j])]]
    forms = [
        {
            "tensor": t, "batch": b,
            "time": [[dice.randint(1 + b // 2, 4 + 2 * b) for _ in range(n)] for _ in range(kinds)],
            "weights": [one + dice.randint(0, t - 1) for one in weights],
            "held": [b * dice.choice((0, 1, 2)) for _ in range(n)],
            "experts": e, "spread": s, "recomputes": r, "spare": dice.choice((0, 0, 2)),
            "sync": dice.randint(0, 9) if syncs else 0, "data": d, "tied": tied,
            "transfer": [[dice.choice((0, 1, 3)) for _ in range(n - 1)] for _ in range(links)],
        }
        for t in tensor for b in range(1, 7) for e, s in sharers for r in again
        for d in (range(1, devices + 1) if goal == "training" else (0,))
    ]  # fmt: skip
    least = dice.choice((1, 1, 1, 2))
    return {
        "goal": goal, "hosts": hosts, "room": [dice.randint(8, 40) for _ in range(kinds)],
        "inside": [dice.randrange(links) for _ in range(kinds)],
        "between": [[dice.randrange(links) for _ in range(kinds)] for _ in range(kinds)],
        "tensor": tensor, "data": [1, dice.choice((devices, devices, 2))],
        "stages": [[least, dice.choice((devices + least, 2, 3, t - 1))] for t in tensor],
        "sequences": total, "batches": sizes,
        "limit": dice.choice((0, 0, 20, 40)) if goal == "decode" else 0,
        "unit": 1 if total else 1000, "forms": forms,
        "experts": experts, "recomputes": again,
        "joined": [at for at in range(1, n) if dice.random() < 0.1],
    }  # fmt: skip
