import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.devices.cluster import close_to_full_mesh
from boundmark.problems.errors import InvalidInputError

Links = dict[tuple[int, int], tuple[int, int]]


def simple_paths(links: Links, tail: int, head: int, size: int) -> list[list[tuple[int, int]]]:
    """Return all simple paths between two devices, each as the pairs that it runs through."""
    others = [device for device in range(size) if device not in (tail, head)]
    paths = []
    for hops in range(len(others) + 1):
        for between in itertools.permutations(others, hops):
            path = list(itertools.pairwise((tail, *between, head)))
            if all(pair in links for pair in path):
                paths.append(path)
    return paths


def best_path(links: Links, tail: int, head: int, size: int) -> tuple[int, int] | None:
    """Return the bandwidth and latency of the widest path, the quickest one of these."""
    if (tail, head) in links:
        return links[tail, head]
    offers = [
        (min(links[pair][0] for pair in path), -sum(links[pair][1] for pair in path))
        for path in simple_paths(links, tail, head, size)
    ]
    return (max(offers)[0], -max(offers)[1]) if offers else None


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, Links]:
    """Draw up to six devices and links that differ by direction; few values, so that paths tie."""
    size = draw(st.integers(1, 6))
    pairs = list(itertools.permutations(range(size), 2))
    linked = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    values = st.tuples(st.integers(1, 4), st.integers(0, 3))
    return size, {pair: draw(values) for pair in linked}


def matrices(size: int, links: Links) -> tuple[np.ndarray, np.ndarray]:
    """Return the links as matrices."""
    bandwidth, latency = np.zeros((size, size)), np.zeros((size, size))
    for pair, (width, delay) in links.items():
        bandwidth[pair], latency[pair] = width, delay
    return bandwidth, latency


@given(networks())
def test_pairs_without_link_take_the_best_of_all_simple_paths(network: tuple[int, Links]) -> None:
    """Widest first, least latency among those; links stay, and missing paths are an error."""
    size, links = network
    names = [f"d{device}" for device in range(size)]
    expected = {
        pair: best_path(links, *pair, size) for pair in itertools.permutations(range(size), 2)
    }
    if None in expected.values():
        tail, head = next(pair for pair in sorted(expected) if expected[pair] is None)
        with pytest.raises(InvalidInputError, match=f"no path from 'd{tail}' to 'd{head}'"):
            close_to_full_mesh(*matrices(size, links), names)
        return
    bandwidth, latency = close_to_full_mesh(*matrices(size, links), names)
    for pair, best in expected.items():
        assert (bandwidth[pair], latency[pair]) == best
    assert np.diag(bandwidth).tolist() == [np.inf] * size
    assert np.diag(latency).tolist() == [0.0] * size


def test_prefixes_of_the_best_path_need_not_be_best() -> None:
    """Behind a narrow link, a narrow and quick way there beats a wide and slow one.

    From 0 to 1, the widest path leads over 2. From 0 to 3, everything passes the narrow link from 1
    to 3, so that the direct link from 0 to 1 is as good, and quicker.
    """
    links = {(0, 4): (5, 9), (4, 1): (5, 9), (0, 2): (2, 1), (2, 1): (2, 1), (1, 3): (2, 1)}
    links |= {(head, tail): value for (tail, head), value in links.items()}
    bandwidth, latency = close_to_full_mesh(*matrices(5, links), "abcde")
    assert (bandwidth[0, 1], latency[0, 1]) == (5, 18)
    assert (bandwidth[0, 3], latency[0, 3]) == (2, 3)


def test_the_papers_example() -> None:
    """Links of 10 MB/s and 5 MB/s in a row take 20 s for 100 MB ([MOIRAI24], III-C)."""
    links = {(0, 1): (10, 0), (1, 0): (10, 0), (1, 2): (5, 0), (2, 1): (5, 0)}
    bandwidth, _ = close_to_full_mesh(*matrices(3, links), "ABD")
    assert Fraction(100) / Fraction(bandwidth[0, 2]) == 20
