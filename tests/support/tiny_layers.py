"""Tiny instances of `layers`."""

import random
from dataclasses import replace

import brute_force_layers
import brute_force_parallel
from brute_force import KINDS_OF_COSTS
from brute_force_layers import optimum, rounds
from hypothesis import assume
from hypothesis import strategies as st
from large_numbers import multiplied

from boundmark.problems.layers import LayerChain, LayersInstance, Question
from boundmark.problems.layers.instance import GOALS, ORDERS

# Three kinds of devices, the fastest with little memory, and tensors that differ.
LARGER = LayersInstance(
    LayerChain(
        time=[[9, 7, 8, 12, 5, 9, 7, 8, 6, 11], [4, 3, 4, 6, 2, 4, 3, 4, 3, 5], [6] * 10],  # type: ignore[arg-type]
        weights=[4, 2, 3, 2, 2, 3, 2, 2, 3, 4],  # type: ignore[arg-type]
        held=[1, 0, 1, 0, 1, 0, 1, 0, 1, 0],  # type: ignore[arg-type]
        tied=((0, 9, 3),),
        joined=(5,),
        transfer=[[1, 4, 2, 7, 1, 3, 1, 2, 5], [3, 8, 4, 9, 2, 6, 3, 4, 9]],  # type: ignore[arg-type]
        link=[[0, 1, 1], [1, 0, 1], [1, 1, 0]],  # type: ignore[arg-type]
        devices=(0, 0, 1, 1, 2),
        capacity=[16, 9, 12],  # type: ignore[arg-type]
        sizes=[4, 2, 3, 2, 2, 3, 2, 2, 3, 4],  # type: ignore[arg-type]
        outer=(1, 1),
        names=tuple(f"layer {at}" for at in range(10)),
        device_names=("a", "b", "c", "d", "e"),
    ),
    "makespan",
    in_flight="1f1b",
)


# Six equal layers in three virtual stages of each of two equal devices.
VIRTUAL = replace(
    LARGER,
    chain=replace(
        LARGER.chain, time=[[5] * 6], weights=[1] * 6, held=[1] * 6, sizes=[1] * 6, tied=(),
        joined=(), transfer=[[2] * 5], link=[[0]], devices=(0, 0), capacity=[99],
        names=tuple("abcdef"), device_names=("x", "y"),
    ),
    goal="bottleneck", in_flight="interleaved", virtual_stages=3, micro_batches=4,
)  # fmt: skip

# The same, where nothing has to be sent: the layers' time is all that counts.
SILENT = replace(VIRTUAL, chain=replace(VIRTUAL.chain, transfer=[[0] * 5]))


def tiny() -> list[tuple[LayersInstance | Question, int]]:
    """Return instances and their optimum, by trying all assignments; some have virtual stages."""
    found = [one for seed in range(100) if (one := _question(seed))]
    for seed in range(150):
        sample = brute_force_layers.drawn(
            random.Random(seed), GOALS[seed % 4], ORDERS[seed // 4 % 2]
        )
        if sample is not None and (best := optimum(sample)) < float("inf"):
            found.append((sample, int(best)))
    for seed in range(60):
        dice = random.Random(seed)
        sample = brute_force_layers.drawn(dice, GOALS[seed % 3], ORDERS[seed // 3 % 2], 5)
        if sample is not None:
            sample = brute_force_layers.with_host(sample, dice)
            if (best := optimum(sample)) < float("inf"):
                found.append((sample, int(best)))
    # One that the tools' equal counts are for, too.
    equal = replace(VIRTUAL, virtual_stages=2)
    found.append((equal, min(one for _, one in rounds(equal) if one is not None)))
    for seed in range(40):
        sample = brute_force_layers.drawn(random.Random(seed), "bottleneck", ORDERS[seed % 2])
        if sample is not None:
            rule = ("interleaved", 1)[seed // 2 % 2]
            sample = replace(sample, virtual_stages=2, micro_batches=6, in_flight=rule)
            best = min((one for _, one in rounds(sample) if one is not None), default=float("inf"))
            if best < float("inf"):
                found.append((sample, int(best)))
    return found


def _question(seed: int) -> tuple[Question, int] | None:
    """Return a question about parallelism whose costs are those of its instances, if it is one."""
    table = brute_force_parallel.drawn(random.Random(seed))
    if table["goal"] != "decode" or not table["sequences"] or table["limit"]:
        return None
    best = min(brute_force_parallel.least_costs(table).values(), default=float("inf"))
    return None if best == float("inf") else (Question(table), int(best))


@st.composite
def random_instances(draw: st.DrawFn) -> LayersInstance:
    """Return random instances for `optimum`, some with equal layers or many without time."""
    dice, order = draw(st.randoms()), draw(st.sampled_from(ORDERS))
    goal, times = draw(st.sampled_from(GOALS)), draw(st.sampled_from(KINDS_OF_COSTS))
    sample = brute_force_layers.drawn(dice, goal, order, times=times)
    assume(sample is not None)
    if draw(st.booleans()):
        return brute_force_layers.with_host(sample, dice)
    if goal == "bottleneck" and draw(st.booleans()):
        rule = draw(st.sampled_from(["interleaved", 1, "stages"]))
        return replace(sample, virtual_stages=2, micro_batches=6, in_flight=rule)
    return sample


def scaled(
    sample: LayersInstance | Question, best: int, factor: int
) -> tuple[LayersInstance | Question, int]:
    """Return an instance with all ticks multiplied, and its optimum."""
    if isinstance(sample, Question):
        forms = [multiplied(one, ("time", "transfer"), factor) for one in sample.table["forms"]]
        return Question.from_json({**sample.to_json(), "forms": forms}), best * factor
    names = ("time", "transfer", *(("split_time",) if sample.chain.split else ()))
    document = multiplied(sample.to_json(), names, factor)
    return LayersInstance.from_json(document), best * factor


def with_goal(goal: str, order: str = "free") -> LayersInstance:
    """Return the larger instance with another goal."""
    return replace(LARGER, goal=goal, device_order=order)
