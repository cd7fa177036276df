from brute_force_sets import as_bits, connected_convex_sets, heaviest_packing, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.weights.packing_search import allowance
from boundmark.bounds.pipeline.weights.pool import Front, Pool
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import PipelineInstance


def full_pool(sample: PipelineInstance) -> Pool:
    """Return all sets of a graph."""
    pool = Pool()
    for members, cost in connected_convex_sets(sample).items():
        assert pool.add(as_bits(members), cost)
    return pool


def drawn(sample: PipelineInstance, data: st.DataObject) -> list[int]:
    """Draw weights for nodes."""
    n = sample.nodes
    return data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))


def costly(sample: PipelineInstance) -> dict[frozenset[int], int]:
    """Return the sets that cost something: what costs nothing is packed without end."""
    return {members: cost for members, cost in connected_convex_sets(sample).items() if cost}


def test_a_set_is_added_once() -> None:
    """The second time, nothing changes."""
    pool = Pool()
    assert pool.add(0b11, 5)
    assert not pool.add(0b11, 5)
    assert (pool.members, pool.costs) == ([0b11], [5])


@given(tiny_graphs(largest=6), st.data())
def test_heaviest_packing_is_found(sample: PipelineInstance, data: st.DataObject) -> None:
    """It is one that exists: its sets fit into the room, and weigh what it says."""
    pool, weights = full_pool(sample), drawn(sample, data)
    units = data.draw(st.integers(1, 60))
    front = Front.of(pool, frozen(weights), 1, units)
    assert front.packed[units] == heaviest_packing(costly(sample), weights, units)
    packing = front.packing(units)
    assert sum(pool.costs[i] for i in packing) <= units
    assert sum(int(pool.weights(frozen(weights))[i]) for i in packing) == front.packed[units]
    assert front.most == max(1, front.packed[units])


@given(tiny_graphs(largest=6), st.data())
def test_packings_are_heavy_and_fit(sample: PipelineInstance, data: st.DataObject) -> None:
    """Each weighs more than asked for, and the heaviest comes first."""
    pool, weights = full_pool(sample), drawn(sample, data)
    units, more_than = data.draw(st.integers(1, 60)), data.draw(st.integers(0, 100))
    front = Front.of(pool, frozen(weights), 1, units)
    of_sets = pool.weights(frozen(weights))
    found = [sum(int(of_sets[i]) for i in packing) for packing in front.packings(more_than, 5)]
    assert len(found) <= 5
    assert all(weight > more_than for weight in found)
    assert found == sorted(found, reverse=True)
    if front.packed[units] > more_than:
        assert found[0] == front.packed[units]
    for packing in front.packings(more_than, 5):
        assert sum(pool.costs[i] for i in packing) <= units


@given(tiny_graphs(largest=6), st.data())
def test_coarse_units_never_leave_out_a_packing(
    sample: PipelineInstance, data: st.DataObject
) -> None:
    """Costs are rounded down, so that what fits in ticks fits in units."""
    pool, weights = full_pool(sample), drawn(sample, data)
    limit, unit = data.draw(st.integers(0, 60)), data.draw(st.integers(1, 9))
    fine = Front.of(pool, frozen(weights), 1, limit)
    coarse = Front.of(pool, frozen(weights), unit, limit // unit)
    # Sets of no unit are left out of packings: they are not to weigh anything.
    if coarse.weights[0] == 0 and fine.weights[0] == 0:
        assert coarse.packed[-1] >= fine.packed[-1]


@given(tiny_graphs(largest=6), st.data())
def test_allowance_is_what_may_be_packed(sample: PipelineInstance, data: st.DataObject) -> None:
    """No known set exceeds it, and no packing of sets that weigh as much exceeds the most."""
    pool, weights = full_pool(sample), drawn(sample, data)
    units = data.draw(st.integers(1, 60))
    front = Front.of(pool, frozen(weights), 1, units)
    most = int(front.packed[units]) + data.draw(st.integers(-3, 30))
    allowed = allowance(front, most)
    if front.weights[0] or most < front.packed[units]:
        assert allowed is None
        return
    assert allowed is not None
    assert allowed[0] == 0
    assert (allowed >= front.weights).all()
    best = [0] * (units + 1)
    for room in range(1, units + 1):
        best[room] = max(
            best[room - 1], *(best[room - i] + int(allowed[i]) for i in range(1, room + 1))
        )
    assert best[units] <= most
