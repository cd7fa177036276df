"""Print an assignment of layers: a line for each stage, with its waits."""

import shlex
from dataclasses import replace
from typing import Any

import click
from rich.table import Table

from boundmark.benchmarks.cli.terminal import print_table
from boundmark.benchmarks.solving.answer import GIVEN, Answer
from boundmark.benchmarks.solving.grading import checked_document
from boundmark.benchmarks.solving.presentation import Loss, Presentation
from boundmark.datasets.layers import language_models
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import LayerAssignment, LayersInstance, Question, StageLoad
from boundmark.problems.layers.arranging import in_order
from boundmark.problems.layers.flights import held
from boundmark.problems.layers.model import DECODE, PREFILL
from boundmark.problems.layers.tools.formats import TOOLS, write_as
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.ticks import NANOSECONDS
from boundmark.reports.text import integer, size
from boundmark.reports.true_costs import Hardware, layer_accuracy


def objective_name(answer: Answer) -> str:
    """Return the objective's name."""
    instance = answer.source.instance
    return instance.table["goal"] if isinstance(instance, Question) else _instance(answer).goal


def facts(answer: Answer) -> dict[str, Any]:
    """Return each device's layers, time and memory, the model's size, and what a user gets."""
    if answer.solution is None:
        return {"stages": None}
    instance, solution = _instance(answer), _solution(answer)
    chain, origin = instance.chain, instance.chain.origin
    loads, runs = instance.stage_loads(solution), solution.stages
    stages = [
        {
            "device": chain.device_names[stage.device],
            "first": chain.names[stage.first],
            "last": chain.names[stage.end - 1],
            "layers": sum(one.end - one.first for one in runs[rank :: len(loads)]),
            "parts": [one.end - one.first for one in runs[rank :: len(loads)]],
            "computing": load.computing,
            "sending": load.sending,
            "memory": load.memory,
            "capacity": load.capacity,
        }
        for rank, (stage, load) in enumerate(zip(runs[: len(loads)], loads, strict=True))
    ]
    return {
        "stages": stages,
        "model": dict(origin.facts),
        "costs": origin.costs,
        "read_as": chain.made_of.get("family"),
        "in_flight": instance.in_flight,
        "tokens_per_second": _tokens_per_second(instance, loads),
        "sequences_in_flight": _sequences(instance, solution)[0],
        "sequences_that_fit": _sequences(instance, solution)[1],
        **({} if chain.split is None else {"split": _split(instance, solution)}),
        **_configuration(answer),
    }


def _split(instance: LayersInstance, solution: LayerAssignment) -> dict[str, int]:
    """Return how many layers keep a part of themselves on the host, of how many, and its bytes."""
    split, (before, _), (count,) = (
        instance.chain.split, instance.chain.outer, solution.configuration,
    )  # fmt: skip
    assert split is not None
    taken = int(split.bytes[before : before + count].sum())
    return {"layers": count, "most": split.most, "bytes": taken, "room": split.room}


def _configuration(answer: Answer) -> dict[str, dict[str, int]]:
    """Return what a solution of a question of `plan` has chosen, if it is one."""
    if not isinstance(answer.source.instance, Question) or answer.solution is None:
        return {}
    return {"configuration": dict(zip("tdembr", answer.solution["configuration"], strict=True))}


def print_solution(answer: Answer) -> None:
    """Print a line for each device."""
    if answer.solution is None:
        if isinstance(answer.source.instance, Question):
            return
        if (answer.certified_bound or 0) > _instance(answer).most():
            click.echo("No assignment fits into the memory of the devices (certified).")
        return
    stages = facts(answer)["stages"]
    slowest = max(stage["computing"] + stage["sending"] for stage in stages)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("device", no_wrap=True)
    for column in ("layers", "computing", "sending", "of slowest", "memory", "full"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for stage in stages:
        total = stage["computing"] + stage["sending"]
        table.add_row(
            stage["device"], "+".join(map(integer, stage["parts"])), integer(stage["computing"]),
            integer(stage["sending"]), f"{total / max(1, slowest):.0%}", size(stage["memory"]),
            f"{stage['memory'] / max(1, stage['capacity']):.0%}", stage["first"],
        )  # fmt: skip
    print_table(table)


def remarks(answer: Answer) -> list[tuple[str, str]]:
    """Return what people check by eye: tokens a second, sequences, and the model's size."""
    instance, solution = _instance(answer), _solution(answer)
    origin, loads = instance.chain.origin, instance.stage_loads(solution)
    found = _speed(instance, loads)
    for chosen in _configuration(answer).values():
        words = ", ".join(f"{name} = {number}" for name, number in chosen.items())
        found.append(("configuration", f"{words}; the stages are those of a replica"))
    if instance.chain.split is not None:
        split = _split(instance, solution)
        found.append(
            (
                "on the host",
                f"a part of the first {split['layers']} of {split['most']} layers, "
                f"{size(split['bytes'])} of {size(split['room'])}",
            )
        )
    if any(map(int, instance.chain.held)):
        found.append(("in flight", _flight_words(instance, solution)))
    return found + list(origin.facts.items())


def _speed(instance: LayersInstance, loads: list[StageLoad]) -> list[tuple[str, str]]:
    """Return tokens a second, and how long one sequence waits, where a tick is a nanosecond."""
    origin, rate = instance.chain.origin, _tokens_per_second(instance, loads)
    if rate is None:
        return []
    on = "measured" if origin.costs.startswith("measured") else "roofline"
    on = "scaled" if "measured" in instance.chain.made_of else on
    found = [("throughput", f"{rate:,.4g} tokens a second ({on})")]
    through = sum(load.total for load in loads) / NANOSECONDS
    if origin.phase == PREFILL:
        found.append(("first token", f"after {1e3 * through:,.4g} ms, if nothing else runs ({on})"))
    if origin.phase == DECODE:
        # The next token of a sequence is computed once it has gone round all stages.
        slowest = max(load.total for load in loads) / NANOSECONDS
        turns = max(through, slowest * _most_in_flight(instance, len(loads)))
        found.append(("each sequence", f"a token every {1e3 * turns:,.4g} ms ({on})"))
    return found


def _tokens_per_second(instance: LayersInstance, loads: list[StageLoad]) -> float | None:
    """Return the tokens of a pass over the time between two of them; None for other models."""
    origin = instance.chain.origin
    tokens = origin.batch * (1 if origin.phase == DECODE else origin.context)
    ticks = max(load.total for load in loads)
    if instance.goal != "bottleneck":
        ticks = instance.cost(loads)
        tokens *= 1 if instance.goal == "latency" else instance.micro_batches
    if not tokens or not ticks or instance.chain.tick != "ns":
        return None
    return tokens * NANOSECONDS / ticks


def _most_in_flight(instance: LayersInstance, stages: int) -> int:
    rule = instance.in_flight
    if instance.virtual_stages > 1 or isinstance(rule, int):
        return rule if isinstance(rule, int) else instance.micro_batches
    return held(rule, instance.micro_batches, 0, stages)


def _sequences(instance: LayersInstance, solution: LayerAssignment) -> tuple[int, int | None]:
    """Return how many sequences are in flight, and how many would fit into the memory."""
    chain, batch = instance.chain, instance.chain.origin.batch
    loads, count = instance.stage_loads(solution), _most_in_flight(instance, len(solution.stages))
    if not batch or instance.virtual_stages > 1 or not any(map(int, chain.held)):
        return count * batch, None
    fitting = []
    for number, (stage, load) in enumerate(zip(solution.stages, loads, strict=True)):
        own = held(instance.in_flight, instance.micro_batches, number, len(solution.stages))
        kept = own * int(chain.held[stage.first : stage.end].sum())
        if kept:
            room = load.capacity - (load.memory - kept)
            fitting.append(count * batch * room // kept)
    return count * batch, min(fitting, default=None)


def _flight_words(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return how many micro-batches each device has memory for, in words."""
    batch = instance.chain.origin.batch
    count = _most_in_flight(instance, len(solution.stages))
    rule = f"rule {instance.in_flight}, " if isinstance(instance.in_flight, str) else ""
    if instance.virtual_stages > 1:
        virtual = f"{instance.virtual_stages} virtual stages"
        return f"{rule}{instance.micro_batches} micro-batches, {virtual}"
    each = f" of {batch} sequence{'s' * (batch > 1)}" if batch else ""
    text = f"{rule}{count} micro-batch{'es' * (count > 1)}{each}"
    now, most = _sequences(instance, solution)
    if most is None:
        return text
    return f"{text}: {now:,} sequence{'s' * (now > 1)}; {most:,} would fit into the memory"


def losses(answer: Answer) -> list[Loss]:
    """Return the parts of the cost: of the slowest stage, or of all stages."""
    if answer.solution is None:
        return []
    instance, solution = _instance(answer), _solution(answer)
    loads = instance.stage_loads(solution)
    slowest = max(range(len(loads)), key=lambda at: loads[at].total)
    name = instance.chain.device_names[solution.stages[slowest].device]
    is_slowest = instance.goal == "round" and instance.cost(loads) > sum(x.total for x in loads)
    if instance.goal == "bottleneck" or is_slowest:
        where, chosen = f"stage {slowest}, on {name}, is the slowest", [loads[slowest]]
    else:
        where, chosen = "all stages", loads
    found = [
        Loss("computing", sum(load.computing for load in chosen), where),
        Loss("sending", sum(load.sending for load in chosen), where),
    ]
    if instance.goal == "makespan":
        waiting = (instance.micro_batches - 1) * loads[slowest].total
        found.append(Loss(f"the other micro-batches, on {name}", waiting, where))
    elif is_slowest:
        waiting = instance.cost(loads) - loads[slowest].total
        found.append(Loss(f"the other micro-batches, on {name}", waiting, where))
    return found


def as_tool(answer: Answer, tool: str, model: str, hosts: str) -> str:
    """Return what starts the assignment in a tool; raises as `write_as` does."""
    solution = _solution(answer)
    source = answer.source
    if isinstance(source.instance, Question):
        raise InvalidInputError(
            "what starts a configuration depends on the hosts, which a question does not name; "
            "expected `boundmark plan`, which prints it."
        )
    if source.dataset == language_models.DATASET.name:
        model = f"{source.dataset}/{source.member}"
    name = shlex.quote(language_models.public_name(model))
    return write_as(tool, Launch(_instance(answer), solution, name, hosts))


def arranged(answer: Answer, use_fewer: bool) -> Answer:
    """Return the answer with stages in the order of devices, and on all of them if that is free."""
    if answer.solution is None or answer.method == GIVEN:
        return answer
    if isinstance(answer.source.instance, Question):
        return answer
    instance, solution = _instance(answer), _solution(answer)
    found = in_order(instance, solution, use_fewer)
    if found.devices.tolist() != solution.devices.tolist():
        answer = replace(answer, solution=checked_document(instance, found))
    used = set(found.devices.tolist())
    # A host is often there for its memory only.
    empty = sum(
        at not in used and kind not in instance.chain.first
        for at, kind in enumerate(instance.chain.devices)
    )
    if not empty or use_fewer:
        return answer
    note = (
        f"{empty} of {len(instance.chain.devices)} devices are empty: no way was found to use "
        "them at the same cost"
    )
    return replace(answer, warnings=(*answer.warnings, note))


def _instance(answer: Answer) -> LayersInstance:
    """Return the instance, or that of the configuration which a solution of a question has."""
    instance = answer.source.instance
    if isinstance(instance, Question):
        return instance.chosen(LayerAssignment.from_json(answer.solution or {}))
    assert isinstance(instance, LayersInstance)
    return instance


def _solution(answer: Answer) -> LayerAssignment:
    """Return the solution for that instance."""
    found = LayerAssignment.from_json(answer.solution or {})
    is_question = isinstance(answer.source.instance, Question)
    return LayerAssignment(found.devices) if is_question else found


def cost_accuracy(answer: Answer) -> str:
    """Return what the roofline of layers has been off by in the phase."""
    if isinstance(answer.source.instance, Question):
        return ""
    chain = _instance(answer).chain
    if "roofline" not in chain.origin.costs:
        return ""
    return layer_accuracy(chain.origin.phase, Hardware.of(chain.device_names))


PRESENTATION = Presentation(
    "layers",
    objective_name,
    cost_accuracy=cost_accuracy,
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    remarks=remarks,
    tools=tuple(TOOLS),
    tool_title=lambda tool: TOOLS[tool].title,
    as_tool=as_tool,
    arranged=arranged,
)
