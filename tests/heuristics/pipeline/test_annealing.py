"""`reslice`, `memetic` and annealing: what each promises beyond what every heuristic does."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import LooksBudget, Recorder
from selection import examples

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.pipeline import annealing
from boundmark.heuristics.pipeline.annealing import AnnealingSettings
from boundmark.heuristics.pipeline.orders import fewest_open_order, noisy_order
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.catalog import methods
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition

MEMETIC, RESLICE = (methods("pipeline")[name] for name in ("memetic", "reslice"))


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(100))
def test_segmenting_again_never_gets_worse(instances, data, seed: int) -> None:
    """With a noise of up to one stage, an order can be cut into the same stages again."""
    sample = data.draw(instances())
    generator = np.random.default_rng(seed)
    order = noisy_order(sample, np.zeros(sample.nodes), 1.0, generator)
    stages = data.draw(st.lists(st.integers(1, sample.nodes), max_size=sample.k - 1))
    ends = np.array([*sorted(stages), sample.nodes])
    partition = Partition.from_segments(order, ends)
    again = noisy_order(sample, partition.stages, 1.0, generator)
    assert segment_order(sample, again)[0] <= sample.objective(partition)


def test_the_graphs_own_order_comes_first(run, random_instance) -> None:
    """It is the first evaluation; the second of `memetic` is the order with the fewest open."""
    sample = random_instance(30, 4, 1)
    orders = sample.graph.dag.topological_order, fewest_open_order(sample.graph)
    own, other = (segment_order(sample, order)[0] for order in orders)
    for method, evaluations, best in (
        (RESLICE, 1, own), (MEMETIC, 1, own), (MEMETIC, 2, min(own, other)),
    ):  # fmt: skip
        assert run(method, sample, evaluations=evaluations).objectives[-1] == best


def test_reslice_begins_alike_with_any_number_of_evaluations(run, random_instance) -> None:
    """More of them find what fewer found, and go on; each takes a look at the clock."""
    sample = random_instance(30, 4, 1)
    few, many = (run(RESLICE, sample, evaluations=number).objectives for number in (57, 1000))
    assert few == many[: len(few)] != many
    looks, recorder = LooksBudget(57), Recorder()
    RESLICE.run(sample, looks, 1, recorder, evaluations=1000)
    assert [sample.objective(one) for one in recorder.solutions] == few


def test_memetic_beats_evolution(run, random_instance) -> None:
    """At equal evaluations, moves of nodes are worth more than orders."""
    sample = random_instance(100, 8, 2)
    evolved = run(methods("pipeline")["brkga-10000"], sample, population=50, generations=40)
    refined = run(MEMETIC, sample, evaluations=2000)
    assert refined.objectives[-1] < evolved.objectives[-1]


def test_the_end_of_a_round_is_colder_where_stages_are_large(random_instance) -> None:
    """A node is a small part of a large stage, and no step is to be hidden by the temperature."""
    coldest = [annealing.final_temperature(random_instance(64, k, 1)) for k in (2, 8, 64, 100)]
    assert coldest == sorted(coldest)
    assert 4 * coldest[0] == coldest[1]
    assert coldest[2] == coldest[3]


def test_a_round_begins_no_hotter_than_its_nodes(random_instance) -> None:
    """Large stages are not melted; small ones begin at what was chosen for them."""
    large, small = random_instance(400, 2, 1), random_instance(64, 8, 1)
    hottest = annealing.initial_temperature
    assert hottest(large) < annealing.HOTTEST == hottest(small)
    for sample in (large, small):
        reheated = AnnealingSettings().reheated * hottest(sample)
        assert annealing.final_temperature(sample) < reheated


def test_with_much_effort_rounds_grow_longer_too() -> None:
    """Up to a few rounds, effort decides their number; then number and length alike."""
    settings = AnnealingSettings(few_rounds=4)
    assert [settings.rounds(effort) for effort in (0.2, 1.4, 4.0, 16.0, 64.0)] == [1, 1, 4, 8, 16]


def test_reslice_improves_the_graphs_own_order(run, random_instance) -> None:
    """A few hundred orders around it are enough."""
    objectives = run(RESLICE, random_instance(100, 8, 2), evaluations=300).objectives
    assert objectives[-1] < objectives[0]


def test_evaluations_are_taken_until_none_are_left() -> None:
    """The last step is as long as what is left."""
    effort = Effort(Budget(60), 50)
    assert [effort.take(20) for _ in range(4)] == [20, 20, 10, 0]
    assert effort.spent() == 1
    assert effort.is_spent()


def test_without_a_limit_the_clock_decides() -> None:
    """Any number of evaluations may be taken while there is time."""
    effort = Effort(Budget(60), None)
    assert effort.take(1000) == 1000
    assert 0 <= effort.spent() < 0.5
    assert not effort.is_spent()


def test_time_counts_from_when_the_effort_begins() -> None:
    """What was spent of the budget before does not count."""
    budget = Budget(100)
    effort = Effort(Budget(100, started=budget.started - 90), None)
    assert math.isclose(effort.spent(), 0, abs_tol=0.5)


def test_nothing_to_spend_is_spent() -> None:
    """Neither by evaluations nor by time."""
    for effort in (Effort(Budget(60), 0), Effort(Budget(0), None)):
        assert effort.spent() == 1
        assert effort.is_spent()
