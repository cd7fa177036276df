import itertools
from pathlib import Path

import pytest
import vipr_checker
from brute_force import cost, instances, optimum, partitions
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import examples
from vipr_samples import (
    FORMULATIONS,
    SAMPLES,
    SUPERBLOCK_CERTIFICATES,
    files,
    holds,
    point,
    superblock_certificate,
    superblocks_certificate,
)

from boundmark.bounds.pipeline.share import share_table
from boundmark.problems.pipeline import PipelineInstance


def test_samples_have_branchings() -> None:
    """The samples are what the tests take them for: both kinds, with trees and with leaves only."""
    branchings = [
        sum(isinstance(node, list) for node in document["payload"]["nodes"])
        for _, document in map(superblocks_certificate, SUPERBLOCK_CERTIFICATES)
    ]
    assert len(SUPERBLOCK_CERTIFICATES) >= 16
    assert min(branchings) == 0
    assert max(branchings) >= 3


@pytest.mark.parametrize("name", SUPERBLOCK_CERTIFICATES)
def test_the_bound_is_confirmed(name: str, tmp_path: Path) -> None:
    """A checker that knows only the format accepts every file, and the certificate's bound."""
    sample, document = superblocks_certificate(name)
    assert document["bound"] > 0
    for path in files(sample, document, tmp_path):
        assert vipr_checker.check(path).bound == document["bound"]


@settings(max_examples=examples(30))
@given(instances(), st.sampled_from(sorted(FORMULATIONS)), st.data())
def test_whatever_is_accepted_is_confirmed(
    tmp_path_factory: pytest.TempPathFactory,
    sample: PipelineInstance,
    kind: str,
    data: st.DataObject,
) -> None:
    """Also thresholds above and below the optimum, and trees that are stopped early."""
    threshold = max(0, optimum(sample) + data.draw(st.integers(-3, 3)))
    assume(threshold >= share_table(sample.graph).bound(sample.k))
    document = superblock_certificate(sample, kind, threshold, data.draw(st.integers(0, 5)))
    assume(document is not None)
    assert document is not None
    for path in files(sample, document, tmp_path_factory.mktemp("vipr")):
        assert vipr_checker.check(path).bound == document["bound"]


def merged(assignment: tuple[int, ...], stage: int) -> tuple[int, ...]:
    """Return the superblock of each node around a stage."""
    return tuple((b >= stage) + (b > stage) for b in assignment)


@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_programs_hold_all_partitions_below_the_threshold(
    name: str, kind: str, tmp_path: Path
) -> None:
    """Each satisfies the program of a stage with most of the demand, with its own cost as z."""
    sample, threshold = SAMPLES[name], optimum(SAMPLES[name]) + 4
    document = superblock_certificate(sample, kind, threshold, 0)
    assert document is not None
    demand = document["payload"]["demand"]
    programs = [vipr_checker.check(path) for path in files(sample, document, tmp_path)]
    within = [found for found in partitions(sample) if cost(sample, found) <= threshold]
    assert within
    for assignment in within:
        amounts = [
            sum(amount for v, amount in enumerate(demand) if assignment[v] == stage)
            for stage in range(sample.k)
        ]
        stage = amounts.index(max(amounts))
        program = programs[stage if len(programs) > 1 else 0]
        values = superblock_point(sample, assignment, stage, program.names)
        assert all(holds(row, values) for row in program.rows)


def superblock_point(
    sample: PipelineInstance, assignment: tuple[int, ...], stage: int, names: list[str]
) -> dict[int, int]:
    """Return the columns that a partition stands for, with its stages merged around one."""
    blocks = merged(assignment, stage)
    values = point(sample, blocks, names)
    values[names.index("z")] = cost(sample, assignment)
    for b in range(3):
        # A superblock has a cache for each of its stages, and what these lack.
        own = [s for s in range(sample.k) if merged((s,), stage) == (b,)]
        loads = [
            sum(int(sample.graph.param_load[v]) for v in range(sample.nodes) if assignment[v] == s)
            for s in own
        ]
        values[names.index(f"o_{b}")] = sum(max(0, load - sample.graph.cache) for load in loads)
    return values


def test_a_file_of_one_position_says_nothing_of_the_others(tmp_path: Path) -> None:
    """The programs of different positions differ, so that one file does not stand for all."""
    sample, document = superblocks_certificate("bottleneck-guess-tree, three stages, 15")
    texts = [path.read_text() for path in files(sample, document, tmp_path)]
    assert len(texts) == sample.k == 3
    for one, other in itertools.combinations(texts, 2):
        assert one.split("RTP")[0] != other.split("RTP")[0]
