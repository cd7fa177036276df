import random

from brute_force_placement import instance

from boundmark.bounds import checker
from boundmark.bounds.checker.placement import module_search as written
from boundmark.bounds.checker.placement.modules import module_of, scratch_for, tensors_written
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.series import compiled


def test_the_compiled_search_is_the_checker_s() -> None:
    """It says the same, after as many steps, and finds the same schedule."""
    dice = random.Random(3)
    for _ in range(60):
        nodes, devices = dice.randint(1, 9), dice.randint(1, 3)
        rows = [[dice.randint(0, 9) for _ in range(devices)] for _ in range(nodes)]
        edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if dice.random() < 0.4]
        times = [[int(d != e) * dice.randint(0, 5) for d in range(devices) for e in range(devices)]]
        transfers = dice.choice(["per-edge", "per-tensor"])
        sample = instance(rows, edges, times=times, transfers=transfers)
        read = checker.check_instance(sample.to_json())
        network = Network(read)
        body = network.inside(OUTSIDE, OUTSIDE)
        module = module_of(read, network, tensors_written(read), (OUTSIDE, OUTSIDE), body)
        arrays = compiled.as_arrays(module)
        slow = scratch_for(module, lambda size: [0] * size)
        fast = scratch_for(module, compiled.zeros)
        for threshold in dice.choices(range(40), k=3):
            expected = written.search(module, slow, threshold, 20_000)
            assert compiled.search(arrays, fast, threshold, 20_000) == expected
            assert list(fast.count) == slow.count
            if expected == written.FOUND:
                assert list(fast.device) == slow.device
                assert list(fast.start) == slow.start
