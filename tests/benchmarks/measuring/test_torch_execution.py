"""Programs run as the modules that they were recorded from."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import torch_archives  # noqa: E402
from torch import nn  # noqa: E402
from torch_archives import two_layers  # noqa: E402
from torch_modules import MODULES, Cached  # noqa: E402

import boundmark  # noqa: E402
from boundmark.benchmarks.measuring.torch_execution import runnable  # noqa: E402
from boundmark.benchmarks.measuring.torch_times import Calls, interpreter  # noqa: E402
from boundmark.problems.errors import BoundmarkError, InvalidInputError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

EXPORTS = Path(__file__).parents[2] / "datasets" / "torch_exports" / "exports.zip"


def one_by_one(given: Any) -> tuple[Any, ...]:
    """Return the results of a program whose calls run one by one."""
    calls = Calls(frozenset(), {}, {})
    steps = interpreter(given, calls, lambda node, args, kwargs: node.target(*args, **kwargs))
    with torch.no_grad():
        found: tuple[Any, ...] = steps.run(*given.inputs)
    return found


@pytest.mark.parametrize("name", MODULES)
def test_results_are_those_of_the_module(name: str) -> None:
    """In one piece and call by call, with the module's weights."""
    make, inputs = MODULES[name]
    torch.manual_seed(1)
    module = make().eval()
    with torch.no_grad():
        expected = module(*inputs)
    found = runnable(module, inputs, "cpu")
    several = expected if isinstance(expected, tuple) else (expected,)
    with torch.no_grad():
        whole = found.module(*found.inputs)
    for results in (whole, one_by_one(found)):
        for one, other in zip(results, several, strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", MODULES)
def test_operators_are_those_of_the_graph(name: str, tmp_path: Path) -> None:
    """A file, its program and its module have the names that `load` gives; each has calls.

    A file runs with its weights and inputs.
    """
    make, inputs = MODULES[name]
    module, path = make().eval(), tmp_path / "own.pt2"
    exported = torch.export.export(module, inputs)
    torch.export.save(exported, path)
    stored = runnable(path, device="cpu")
    assert stored.graph.names == boundmark.load(path).source.names
    assert stored.graph.kernels == boundmark.load(path).source.kernels
    loaded = boundmark.load(module, example_inputs=inputs).source
    for net in (exported, module):
        assert runnable(net, inputs, "cpu").graph.names == loaded.names
    assert all(stored.nodes)
    calls = [node for nodes in stored.nodes for node in nodes]
    assert len(set(calls)) == len(calls)
    with torch.no_grad():
        expected = module(*(one.clone() for one in inputs))
    several = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(one_by_one(stored), several, strict=True):
        torch.testing.assert_close(one, other)


def test_open_sizes(tmp_path: Path) -> None:
    """They are those of the example, in a file and in memory; arithmetic of sizes is not run."""

    class Rows(nn.Module):
        def forward(self, x: Any) -> Any:
            rows = x.shape[0]
            return x.view(rows * 2, -1) + torch.arange(rows * 2).unsqueeze(1) / rows

    module, inputs, path = Rows(), (torch.randn(5, 8),), tmp_path / "own.pt2"
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(module, inputs, dynamic_shapes=({0: rows},))
    torch.export.save(exported, path)
    assert one_by_one(runnable(path, device="cpu"))[0].shape == (10, 4)
    torch.testing.assert_close(one_by_one(runnable(exported, device="cpu"))[0], module(*inputs))


def test_values_that_are_written_are_given_back() -> None:
    """Neither the module's buffers nor its inputs change, and every run begins alike."""
    module, inputs = Cached().eval(), (torch.ones(2, 3),)
    found = runnable(module, inputs, "cpu")
    first = [one.clone() for one in one_by_one(found)]
    assert not torch.equal(one_by_one(found)[0], first[0])
    found.reset()
    assert torch.equal(one_by_one(found)[0], first[0])
    assert torch.equal(module.seen, torch.zeros(2, 3))
    assert torch.equal(inputs[0], torch.ones(2, 3))


def test_inputs_of_the_caller() -> None:
    """They are the program's, by place or by name, if they have its shapes and types."""
    path_inputs = (torch.full((3, 8), 2.0),)
    for given in (path_inputs, {"x": path_inputs[0]}, path_inputs[0]):
        found = runnable(exported_layers(), given, "cpu")
        assert torch.equal(found.inputs[0], exported_layers().example_inputs[0][0])


def exported_layers() -> Any:
    """Return a program of two layers."""
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return torch.export.export(net, (torch.ones(3, 8),))


@pytest.mark.parametrize("given", [torch.zeros(4, 8), torch.zeros(3, 8, dtype=torch.float64), ()])
def test_inputs_of_other_shapes(given: Any, tmp_path: Path) -> None:
    """They are refused, with what the program was recorded with."""
    path = tmp_path / "own.pt2"
    torch.export.save(exported_layers(), path)
    with pytest.raises(InvalidInputError, match=r"expected torch.float32 of shape \[3, 8\]"):
        runnable(path, given, "cpu")
    assert runnable(path, torch.zeros(3, 8), "cpu").inputs[0].shape == (3, 8)


def test_files_that_torch_does_not_load(tmp_path: Path) -> None:
    """A program without its weights ends in a sentence that names the file."""
    path = torch_archives.write(tmp_path, two_layers())
    with pytest.raises(InvalidInputError, match=r"own.pt2: torch .* does not load it"):
        runnable(path, device="cpu")


def test_no_gpu(tmp_path: Path) -> None:
    """Whoever asks for one that is not there is told so."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(BoundmarkError, match="torch finds no GPU"):
        runnable(torch_archives.write(tmp_path, two_layers()), device="cuda")


class Unknown(nn.Module):
    """A product, a function of which boundmark does not count the operations, and a sort."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """Return sorted values."""
        return torch.sort(torch.special.bessel_j0(self.layer(x)))[0].type_as(x)


def test_unknown_operators_run(tmp_path: Path) -> None:
    """They have calls like others, and names that a module, its program and a file share."""
    inputs = (torch.randn(4, 8),)
    module = Unknown().eval()
    path = tmp_path / "net.pt2"
    recorded = torch.export.export(module, inputs)
    torch.export.save(recorded, path)
    loaded = boundmark.load(module, example_inputs=inputs)
    assert "'aten.special_bessel_j0' (1)" in loaded.notes[0]
    for net in (module, recorded, path):
        found = runnable(net, None if net is path else inputs, "cpu")
        assert found.graph.names == ("layer/Gemm", "aten.special_bessel_j0", "TopK")
        assert found.graph.names == loaded.source.names
        assert all(found.nodes)
        with torch.no_grad():
            assert found.module(*found.inputs)[0].shape == (4, 8)


class TakenApart(nn.Module):
    """Operators without a rule, of which torch takes one apart."""

    def forward(self, x: Any) -> Any:
        """Return a function of all elements, scaled by a loss."""
        return torch.nn.functional.huber_loss(x, x.roll(1, 0)) * torch.special.bessel_j0(x)


def test_operators_without_a_rule_are_taken_apart(tmp_path: Path) -> None:
    """In memory, by torch; a file keeps them as they are, since reading it does not need torch.

    Operators are run by the names that `load` gives, whichever it is.
    """
    inputs, path = (torch.randn(4, 8),), tmp_path / "net.pt2"
    module = TakenApart().eval()
    recorded = torch.export.export(module, inputs)
    torch.export.save(recorded, path)
    loaded = boundmark.load(module, example_inputs=inputs)
    assert {"Abs", "Less", "ReduceMean"} < set(loaded.source.op_types)
    assert loaded.notes == (
        "1 operator is unknown, costed by the bytes read and written: 'aten.special_bessel_j0' (1)",
    )
    assert "aten.huber_loss" in boundmark.load(path).source.op_types
    for net in (module, recorded, path):
        found = runnable(net, None if net is path else inputs, "cpu")
        model = boundmark.load(net, example_inputs=inputs if net is module else None)
        assert found.graph.names == model.source.names
        assert all(found.nodes)
        if net is not path:
            torch.testing.assert_close(one_by_one(found)[0], module(*inputs))


class Decomposed(nn.Module):
    """Operators that torch takes apart into others of its core."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = nn.ConvTranspose2d(4, 6, 3, stride=2), nn.GroupNorm(2, 6)
        self.words = nn.EmbeddingBag(10, 8)

    def forward(self, x: Any, words: Any) -> Any:
        """Return results of several kinds."""
        rows = x.view(1, 4, 4, 4)
        attended = nn.functional.scaled_dot_product_attention(rows, rows, rows)
        return self.norm(self.up(x)), attended, self.words(words), torch.fft.rfft(x).abs()


def test_programs_of_core_operators(tmp_path: Path) -> None:
    """What torch takes a program apart into has rules, which count as many operations."""
    inputs = torch.randn(1, 4, 4, 4), torch.zeros(3, 2, dtype=torch.int64)
    whole = torch.export.export(Decomposed().eval(), inputs)
    found = []
    for number, one in enumerate((whole, whole.run_decompositions())):
        path = tmp_path / f"{number}.pt2"
        torch.export.save(one, path)
        graph = boundmark.load(path).source
        assert graph.notes == ()
        counted = zip(graph.op_types, graph.flops.tolist(), strict=True)
        kinds = ("ConvTranspose", "DFT", "EmbeddingBag")
        found.append({kind: flops for kind, flops in counted if kind in kinds})
    assert found[0] == found[1]
    assert all(found[0].values())


class Inverse(nn.Module):
    """An operator that torch takes apart into one and a check that must not be lost."""

    def forward(self, x: Any) -> Any:
        """Return the inverse."""
        return torch.linalg.inv(x)


def test_what_cannot_be_read_is_not_taken_apart() -> None:
    """Where torch's parts are calls of another kind, the operator stays."""
    loaded = boundmark.load(Inverse().eval(), example_inputs=torch.eye(4))
    assert loaded.source.op_types == ("aten.linalg_inv",)


class Steps(nn.Module):
    """A recurrence that writes its results into a tensor, step by step."""

    def forward(self, x: Any) -> Any:
        """Return all states."""
        found, state = torch.zeros_like(x), x[:, 0]
        for step in range(x.shape[1]):
            state = torch.tanh(state + x[:, step])
            found[:, step] = state
        x[:, 1:].mul_(2)
        return found * x


def test_writes_to_parts(tmp_path: Path) -> None:
    """A file has the operators that torch makes of its program; they run in place."""
    inputs, path = (torch.randn(2, 3, 4),), tmp_path / "net.pt2"
    module = Steps().eval()
    recorded = torch.export.export(module, inputs)
    torch.export.save(recorded, path)
    stored, loaded = boundmark.load(path).source, boundmark.load(recorded).source
    assert stored.names == loaded.names
    assert stored.op_types.count("ScatterND") == 4
    found = runnable(recorded, device="cpu")
    expected = module(inputs[0].clone())
    torch.testing.assert_close(one_by_one(found)[0], expected)
    stored_run = runnable(path, device="cpu")
    assert stored_run.graph.names == stored.names
    # What puts a part back is the write itself.
    idle = {name for name, nodes in zip(stored.names, stored_run.nodes, strict=True) if not nodes}
    assert all(name.startswith("ScatterND") for name in idle)


class Chosen(nn.Module):
    """A branch."""

    def forward(self, x: Any) -> Any:
        """Return one of two sums."""
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Found(nn.Module):
    """A result whose size nobody knows before."""

    def forward(self, x: Any) -> Any:
        """Return places."""
        return torch.nonzero(x).float()


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (Found(), "the size 'u0' depends on the data; expected fixed sizes"),
    ],
)
def test_what_has_no_costs_is_refused(module: nn.Module, expected: str) -> None:
    """Sizes that depend on data end in a sentence, in memory as in files."""
    with pytest.raises(InvalidInputError, match=expected):
        boundmark.load(module, example_inputs=(torch.randn(3, 3),))


def test_control_flow_has_costs_but_cannot_be_timed(tmp_path: Path) -> None:
    """In memory as in files it is one operator; what would time or cut it ends in a sentence."""
    inputs = (torch.randn(3, 3),)
    program = torch.export.export(Chosen(), inputs)
    torch.export.save(program, tmp_path / "own.pt2")
    for source in (program, tmp_path / "own.pt2"):
        graph = boundmark.load(source).source
        assert graph.op_types == ("ReduceSum", "Greater", "If")
        assert graph.flops.tolist()[-1] == 9
        with pytest.raises(InvalidInputError, match="control flow, which cannot be timed"):
            runnable(source)
