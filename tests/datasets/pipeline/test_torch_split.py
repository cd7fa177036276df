"""Split points of PyTorch: the best cuts by enumeration, and files that compute as the model."""

import itertools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from brute_force import instances
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.cli.group import main
from boundmark.datasets.pipeline.torch_split import best_split
from boundmark.problems.pipeline import Partition, PipelineInstance

NETS = '''
import torch
from torch import nn


class Block(nn.Module):
    """A block with a residual; its activation is shared, so that it runs several times."""

    def __init__(self, width, act):
        super().__init__()
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.norm, self.act = nn.LayerNorm(width), act

    def forward(self, x):
        return self.norm(x + self.down(self.act(self.up(x))))


class Mlp(nn.Module):
    """Blocks in a row."""

    def __init__(self):
        super().__init__()
        act = nn.GELU()
        self.embed, self.head = nn.Linear(8, 16), nn.Linear(16, 4)
        self.layers = nn.ModuleList(Block(16, act) for _ in range(6))

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.relu(x))


class Skips(nn.Module):
    """Convolutions whose first output is read by the last one, too."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Sequential(*(nn.Conv2d(8, 8, 3, padding=1) for _ in range(5)))
        self.tail, self.pool = nn.Conv2d(16, 8, 1), nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        x = self.stem(x)
        y = self.body(x).relu()
        return self.pool(self.tail(torch.cat([x, y], 1))).flatten(1)


class Attending(nn.Module):
    """Words, attention and scores."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True) for _ in range(4)
        )
        self.scores = nn.Linear(16, 50)

    def forward(self, x):
        x = self.words(x)
        for layer in self.encoder:
            x = layer(x)
        return self.scores(x)


GIVEN = {
    "Mlp": lambda n: torch.randn(n, 8),
    "Skips": lambda n: torch.randn(n, 3, 6, 6),
    "Attending": lambda n: torch.randint(0, 50, (n, 5)),
}


def made(name):
    """Return a model and a batch, the same in every process."""
    torch.manual_seed(1)
    model = globals()[name]().train(name == "Attending")
    return model, GIVEN[name](8)
'''

EXPORT = """
import sys

import nets
import torch

for name in nets.GIVEN:
    model, batch = nets.made(name)
    torch.export.save(torch.export.export(model, (batch[:4],)), f"{name}.pt2")
"""

RUN = """
import os
import sys

import nets
import torch
import torch.distributed as dist
from split import split
from torch.distributed.pipelining import ScheduleGPipe

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo")
model, batch = nets.made(sys.argv[1])
expected = model(batch)
stage = split(model, batch[:4]).build_stage(rank, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 2)
found = schedule.step(batch) if rank == 0 else schedule.step()
if rank == size - 1:
    torch.testing.assert_close(found, expected)
    print("the same", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


@given(instances(), st.data())
def test_the_best_cuts_at_given_places(sample: PipelineInstance, data: st.DataObject) -> None:
    """By all choices of cuts, each with the instance's own cost."""
    order = sample.graph.dag.topological_order.tolist()
    n = len(order)
    places = sorted(data.draw(st.sets(st.integers(1, n - 1)))) if n > 1 else []
    best = min(
        sample.objective(partition_of(order, chosen))
        for count in range(min(sample.k, len(places) + 1))
        for chosen in itertools.combinations(places, count)
    )
    found, cuts = best_split(sample, order, places)
    assert set(cuts) <= set(places)
    assert sample.objective(found) == best
    assert found.stages.tolist() == partition_of(order, cuts).stages.tolist()


def partition_of(order: Sequence[int], cuts: Sequence[int]) -> Partition:
    """Return the partition with these cuts of an order."""
    stages = [0] * len(order)
    for at, node in enumerate(order):
        stages[node] = sum(cut <= at for cut in cuts)
    return Partition(stages)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export the models into a folder."""
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("nets")
    for name, text in (("nets", NETS), ("export", EXPORT), ("run", RUN)):
        (path / f"{name}.py").write_text(text)
    subprocess.run([sys.executable, "export.py"], cwd=path, check=True)
    return path


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("model", ["Mlp", "Skips", "Attending"])
def test_what_is_written_computes_what_the_model_does(
    folder: Path, model: str, stages: int
) -> None:
    """In as many processes, with two micro-batches, against the model that is not split."""
    arguments = ("solve", str(folder / f"{model}.pt2"), "-k", str(stages), "--quiet")
    done = CliRunner().invoke(main, [*arguments, "--time-limit", "10", "--as", "torch-pipelining"])
    assert done.exit_code == 0, done.output
    assert f"# torchrun --nproc-per-node {stages} " in done.stdout
    assert "above the optimum of any partition" in done.stdout
    (folder / "split.py").write_text(done.stdout)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
        str(stages), "run.py", model,
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "the same" in ran.stdout


def test_only_programs_have_modules() -> None:
    """Other models are refused, with what was expected."""
    done = CliRunner().invoke(
        main, ["solve", "onnx-light/alexnet", "-k", "2", "--quiet", "--as", "torch-pipelining"]
    )
    assert done.exit_code == 2
    assert "is no program of torch.export, whose modules --as torch-pipelining" in done.output
