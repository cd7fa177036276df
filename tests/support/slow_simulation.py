"""List scheduling of a placement, tick by tick and without any data structure to speak of."""

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import needed_transfers


def simulated(
    instance: PlacementInstance, devices: IntArray, priority: list[int]
) -> PlacementSchedule:
    """Return the schedule in which nothing waits that could start, the most urgent first."""
    graph, place = instance.graph, devices.tolist()
    waiting = needed_transfers(graph, devices, instance.transfers)
    # Transfers by tensor, then by the first consumer that they serve.
    moves = sorted(waiting, key=lambda move: (move[0], min(waiting[move])))
    start: dict[object, int] = {}
    ticks: dict[object, int] = {v: int(graph.duration[v, d]) for v, d in enumerate(place)}
    for move in moves:
        source, target = place[graph.producer[move[0]]], place[waiting[move][0]]
        ticks[move] = int(graph.times[graph.size[move[0]], source, target])
    inputs: dict[object, list[object]] = {v: [] for v in range(graph.nodes)}
    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            producer = int(graph.producer[tensor])
            found = [move for move in moves if move[0] == tensor and reader in waiting[move]]
            inputs[reader] += found or [producer]
    urgency = {move: max(priority[v] for v in waiting[move]) for move in moves}

    def uses(item: object) -> set[str]:
        if isinstance(item, int):
            return {f"run {place[item]}"}
        move = next(move for move in moves if move == item)
        return {
            f"send {place[graph.producer[move[0]]]}",
            f"receive {place[waiting[move][0]]}",
        }

    def is_ready(item: object, now: int) -> bool:
        if isinstance(item, int):
            needed = inputs[item]
        else:
            needed = [int(graph.producer[next(m for m in moves if m == item)[0]])]
        return all(other in start and start[other] + ticks[other] <= now for other in needed)

    items: list[object] = [*range(graph.nodes), *moves]
    now = 0
    while len(start) < len(items):
        changed = True
        while changed:
            changed = False
            ready = [i for i in items if i not in start and is_ready(i, now)]
            busy = {
                use for i in start if start[i] + ticks[i] > now for use in uses(i) if ticks[i] > 0
            }
            instant = [i for i in ready if ticks[i] == 0]
            # All that takes no time happens before anything else is chosen.
            if instant:
                start[instant[0]] = now
                changed = True
                continue
            free = [i for i in ready if not uses(i) & busy]
            if free:
                operators = [i for i in free if isinstance(i, int)]
                if operators:
                    chosen: object = min(operators, key=lambda v: (-priority[v], v))
                else:
                    chosen = min(
                        (m for m in moves if m in free), key=lambda m: (-urgency[m], moves.index(m))
                    )
                start[chosen] = now
                changed = True
        now += 1
    return PlacementSchedule(
        devices,
        [start[v] for v in range(graph.nodes)],  # type: ignore[arg-type]
        sorted((*move, start[move]) for move in moves),  # type: ignore[arg-type]
    )
