import pytest
from brute_force import cost, instance, instances, partitions
from hypothesis import given

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.noise import Noise
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order
from boundmark.problems.pipeline.objective import noisy_costs

FIGURE_2_LEFT = {"work": [0, 0, 0], "edges": [(0, 1), (0, 2)], "transfer": [2, 0, 0]}


def test_a_tensor_counts_once_a_stage() -> None:
    """Two consumers in one stage read the tensor once ([MTPP24], Figure 2, left)."""
    sample = instance(k=2, **FIGURE_2_LEFT)  # type: ignore[arg-type]
    assert sample.objective(Partition([0, 1, 1])) == 2  # type: ignore[arg-type]


def test_a_tensor_enters_every_stage_that_reads_it_and_leaves_once() -> None:
    """The producer writes it to the interconnect once, each receiving stage reads it."""
    sample = instance([0, 0, 0], [(0, 1), (0, 2)], 3, transfer=[2, 0, 0])
    assert sample.objective(Partition([0, 1, 2])) == 2  # type: ignore[arg-type]


def test_parameters_beyond_the_cache_are_streamed() -> None:
    """Overflow is charged a stage, above the cache only ([MTPP24], Equation 2)."""
    sample = instance([1, 1], [(0, 1)], 2, transfer=[0, 0], param_load=[7, 6], cache=5)
    assert sample.objective(Partition([0, 0])) == 2 + 8  # type: ignore[arg-type]
    assert sample.objective(Partition([0, 1])) == 1 + 2  # type: ignore[arg-type]


@given(instances())
def test_objective_agrees_with_the_definition(sample: PipelineInstance) -> None:
    """The array code and the tensor-by-tensor oracle give the same cost for every partition."""
    for assignment in partitions(sample):
        assert sample.objective(Partition(assignment)) == cost(sample, assignment)  # type: ignore[arg-type]


def test_cyclic_quotient_is_refused() -> None:
    """Two stages that need each other's data cannot run ([MTPP24], Figure 2, middle)."""
    sample = instance([1, 1, 1], [(0, 1), (1, 2)], 2)
    with pytest.raises(
        InvalidInputError, match=r"stage 0 -> stage 1 -> stage 0|stage 1 -> stage 0"
    ):
        sample.objective(Partition([0, 1, 0]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([0, 0], "has 2 stages; expected one for each of the 3 nodes"),
        ([0, 0, 2], "uses stages 0 to 2; expected 0 to 1"),
        ([-1, 0, 0], "uses stages -1 to 0"),
    ],
)
def test_partition_that_does_not_fit_is_refused(stages: list[int], message: str) -> None:
    """The error says what the instance expects."""
    with pytest.raises(InvalidInputError, match=message):
        instance([1, 1, 1], [], 2).objective(Partition(stages))  # type: ignore[arg-type]


def test_stage_numbers_may_come_in_any_order_and_can_be_sorted() -> None:
    """Only the stages matter; `in_pipeline_order` numbers them as data flows."""
    sample = instance([1, 1, 1], [(0, 1), (1, 2)], 3)
    backwards = Partition([2, 1, 0])  # type: ignore[arg-type]
    assert sample.objective(backwards) == 3
    assert in_pipeline_order(sample, backwards).stages.tolist() == [0, 1, 2]


def test_slices_of_an_order() -> None:
    """Consecutive pieces of the order become stages; a piece may be empty."""
    order, ends = [2, 0, 1], [1, 1, 3]
    partition = Partition.from_slices(Partition(order).stages, Partition(ends).stages)  # type: ignore[arg-type]
    assert partition.stages.tolist() == [2, 2, 0]


@pytest.mark.parametrize("value", [{}, {"stages": "0"}, {"stages": [0, 1.0]}, {"stages": [True]}])
def test_malformed_solution_is_named(value: dict[str, object]) -> None:
    """A solution file that is not a list of integers is refused in a sentence."""
    with pytest.raises(InvalidInputError, match="stages of the solution is not a list of integers"):
        Partition.from_json(value)


@given(instances())
def test_noise_of_no_size_changes_nothing(sample: PipelineInstance) -> None:
    """Drawn costs are those of the stages; with noise, they are around them."""
    for stages in list(partitions(sample))[:5]:
        partition = Partition(stages)  # type: ignore[arg-type]
        costs = noisy_costs(sample.graph, partition.stages, sample.k, Noise(0.0, 2))
        assert costs.tolist() == [sample.objective(partition)] * 2
