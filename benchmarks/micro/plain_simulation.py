"""List scheduling of a placement as one would write it in Python: events, heaps and dictionaries.

It makes the same choices as the compiled simulator, and shows what compiling it is worth.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from boundmark.problems.placement import PlacementInstance, PlacementSchedule


class PlainSimulation:
    """An instance as lists, which Python reads fastest, and all that depends on no device."""

    def __init__(self, instance: PlacementInstance) -> None:
        graph = instance.graph
        self.instance = instance
        self.duration = graph.duration.tolist()
        self.times = graph.times.tolist()
        self.size = graph.size.tolist()
        self.producer = graph.producer.tolist()
        self.written: list[list[int]] = [[] for _ in range(graph.nodes)]
        self.inputs = [0] * graph.nodes
        for tensor, readers in enumerate(graph.consumers):
            self.written[self.producer[tensor]].append(tensor)
            for reader in readers:
                self.inputs[reader] += 1

    def run(self, devices: Sequence[int], priority: Sequence[int]) -> PlacementSchedule:
        """Return the schedule in which nothing waits that could start, the most urgent first."""
        graph, span = self.instance.graph, self.instance.graph.devices
        place = list(devices)
        served: dict[int, dict[int, list[int]]] = defaultdict(dict)
        shared = self.instance.transfers == "per-tensor"
        for tensor, readers in enumerate(graph.consumers):
            source = place[self.producer[tensor]]
            for reader in readers:
                if place[reader] != source:
                    receiver = place[reader] if shared else reader
                    served[tensor].setdefault(receiver, []).append(reader)
        missing = list(self.inputs)
        starts = [0] * graph.nodes
        moved: list[tuple[int, int, int]] = []
        ready: list[list[tuple[int, int]]] = [[] for _ in range(span)]
        waiting: dict[tuple[int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
        running, sending, receiving = [False] * span, [False] * span, [False] * span
        # (time, number, operator or -1, tensor, receiver)
        events: list[tuple[int, int, int, int, int]] = []
        number = 0
        now = 0

        def arrives(operators: Sequence[int]) -> None:
            for v in operators:
                missing[v] -= 1
                if not missing[v]:
                    begin(v)

        def begin(v: int) -> None:
            if self.duration[v][place[v]]:
                heapq.heappush(ready[place[v]], (-priority[v], v))
            else:
                starts[v] = now
                ended.append(v)

        def ends(v: int) -> None:
            for tensor in self.written[v]:
                arrives([w for w in graph.consumers[tensor] if place[w] == place[v]])
                for receiver, readers in served.get(tensor, {}).items():
                    target = place[readers[0]]
                    if self.times[self.size[tensor]][place[v]][target]:
                        urgency = max(priority[w] for w in readers)
                        heapq.heappush(
                            waiting[place[v], target], (-urgency, tensor, readers[0], receiver)
                        )
                    else:
                        moved.append((tensor, receiver, now))
                        arrives(readers)

        ended: list[int] = []
        for v in range(graph.nodes):
            if not missing[v]:
                begin(v)
        while True:
            while ended:
                ends(ended.pop())
            for d in range(span):
                if not running[d] and ready[d]:
                    _, v = heapq.heappop(ready[d])
                    starts[v] = now
                    running[d] = True
                    number += 1
                    heapq.heappush(events, (now + self.duration[v][d], number, v, 0, 0))
            while True:
                free = [
                    (heap[0], pair)
                    for pair, heap in waiting.items()
                    if heap and not sending[pair[0]] and not receiving[pair[1]]
                ]
                if not free:
                    break
                (_, tensor, _, receiver), (source, target) = min(free)
                heapq.heappop(waiting[source, target])
                moved.append((tensor, receiver, now))
                sending[source] = receiving[target] = True
                number += 1
                ticks = self.times[self.size[tensor]][source][target]
                heapq.heappush(events, (now + ticks, number, -1, tensor, receiver))
            if not events:
                break
            now = events[0][0]
            while events and events[0][0] == now:
                _, _, v, tensor, receiver = heapq.heappop(events)
                if v >= 0:
                    running[place[v]] = False
                    ended.append(v)
                else:
                    waited = served[tensor][receiver]
                    sending[place[self.producer[tensor]]] = False
                    receiving[place[waited[0]]] = False
                    arrives(waited)
        return PlacementSchedule(devices, starts, sorted(moved))  # type: ignore[arg-type]
