import itertools

from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.dag import Dag
from boundmark.problems.graph_statistics import depth, down_sets, levels, width


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """Return a graph of up to eight nodes, numbered in any order."""
    nodes = draw(st.integers(1, 8))
    order = draw(st.permutations(range(nodes)))
    pairs = [(order[a], order[b]) for a, b in itertools.combinations(range(nodes), 2)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=16)) if pairs else []
    return Dag.from_edges(nodes, edges)


def reachable(dag: Dag) -> list[set[int]]:
    """Return what depends on each node, one step after the other."""
    after: list[set[int]] = [set() for _ in range(dag.nodes)]
    for _ in range(dag.nodes):
        for tail, head in dag.edge_pairs().tolist():
            after[tail] |= {head} | after[head]
    return after


@given(dags())
def test_by_enumeration(dag: Dag) -> None:
    """Width and down-sets are those among all sets of nodes; depth is the longest chain."""
    after = reachable(dag)
    sets = [
        set(chosen)
        for size in range(dag.nodes + 1)
        for chosen in itertools.combinations(range(dag.nodes), size)
    ]
    antichains = [x for x in sets if not any(after[v] & x for v in x)]
    assert width(dag) == max(map(len, antichains))
    closed = [x for x in sets if not any(after[v] & x for v in set(range(dag.nodes)) - x)]
    assert down_sets(dag).number == len(closed)
    assert down_sets(dag).is_exact
    chains = [
        x
        for x in sets
        if all(b in after[a] or a in after[b] for a, b in itertools.combinations(x, 2))
    ]
    assert depth(dag) == max(map(len, chains))


@given(dags(), st.integers(1, 40))
def test_a_limit_gives_a_lower_bound(dag: Dag, most: int) -> None:
    """Beyond the limit, the number is at most the true one, and said not to be exact."""
    counted, whole = down_sets(dag, most), down_sets(dag)
    assert counted.is_exact == (whole.number <= most)
    assert counted.number <= whole.number
    assert counted.number >= min(whole.number, most)


def test_many_down_sets() -> None:
    """Thirty independent nodes have 2^30 down-sets, of which nobody lists each."""
    counted = down_sets(Dag.from_edges(30, []))
    assert counted.number == 2**30
    assert not counted.is_exact


def test_levels_by_hand() -> None:
    """0 feeds 1 and 2, 1 feeds 2: the longest path counts."""
    assert levels(Dag.from_edges(4, [(0, 1), (1, 2), (0, 2)])).tolist() == [0, 1, 2, 0]
