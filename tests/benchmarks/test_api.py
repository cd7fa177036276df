"""`import boundmark`: what notebooks call, and one sentence for each mistake."""

import inspect
import math
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib as mpl
import networkx as nx
import pandas as pd
import pytest
import torch_archives
from onnx import TensorProto, helper

import boundmark
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import find_device
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# A chain: stages {a, b, c} and {d, e} cost 7 and 10, which is the least.
WORK = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}


@pytest.fixture(autouse=True)
def _no_window() -> None:
    mpl.use("Agg")


def digraph() -> "nx.DiGraph[str]":
    """Return the chain with costs as attributes."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, work in WORK.items():
        graph.add_node(name, work=work, transfer=1)
    nx.add_path(graph, WORK)
    return graph


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the chain as frames of nodes and edges."""
    names = list(WORK)
    nodes = pd.DataFrame({"name": names, "work": list(WORK.values()), "transfer": 1})
    return nodes, pd.DataFrame({"source": names[:-1], "target": names[1:]})


def streamed() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the chain with parameters, which need a cache."""
    nodes, edges = frames()
    return nodes.assign(param_load=1), edges


def matrix_product() -> Any:
    """Return an ONNX model with an open dimension."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "own",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor("w", TensorProto.FLOAT, [8, 4], [0.0] * 32)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_importing_imports_nothing_else() -> None:
    """Not even numpy; names are there all the same."""
    code = (
        "import sys; before = set(sys.modules); import boundmark; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "assert new <= {'boundmark', *sys.stdlib_module_names}, new; "
        "assert 'boundmark.problems' not in sys.modules; "
        "assert {'solve', 'load', 'plots'} <= set(dir(boundmark)); "
        "assert not hasattr(boundmark, 'sovle')"
    )
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env=environment())


def environment() -> dict[str, str]:
    """Return variables by which an interpreter without site packages finds the package."""
    return {"PYTHONPATH": str(Path(str(boundmark.__file__)).parents[1])}


def test_names_are_what_type_checkers_are_told() -> None:
    """Every public name is there, with a docstring."""
    for name in boundmark.__all__:
        assert inspect.getdoc(getattr(boundmark, name)), name


@pytest.mark.parametrize("make", [digraph, frames])
def test_a_graph_in_memory_is_solved(make: Callable[[], Any]) -> None:
    """Answers have the names of the nodes, and a certificate that the checker accepts."""
    answer = boundmark.solve(make(), k=2, quiet=True)
    assert (answer.cost, answer.bound, answer.gap, answer.is_optimal) == (10, 10, 0.0, True)
    assert dict(answer.solution.itertuples(index=False)) == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}
    assert answer.losses["ticks"].sum() == 10
    assert answer.certificate is not None
    assert answer.certificate.check() == answer.certificate.bound == 10
    assert answer.seconds > 0
    assert answer.notes == ()
    assert "cost 10 by" in repr(answer)
    assert "proven optimal" in answer._repr_html_()


def test_parameters_need_a_cache() -> None:
    """What does not fit is streamed."""
    nodes, edges = frames()
    nodes["param_load"] = 3
    model = boundmark.load((nodes, edges), cache=6, name="own")
    assert boundmark.solve(model, k=1, quiet=True).cost == 15 + 5 * 3 - 6
    with pytest.raises(boundmark.Error, match="param_load is given without cache; expected cache="):
        boundmark.load((nodes, edges))


def test_models_are_described() -> None:
    """In a line and as a table, whose texts are escaped."""
    model = boundmark.load(digraph(), name="<own>")
    assert repr(model) == "<PipelineGraph networkx/<own>: operators 5, edges 4, problems pipeline>"
    assert "networkx/&lt;own&gt;" in model._repr_html_()
    assert (model.nodes, model.edges) == (5, 4)


def test_an_onnx_model_in_memory_stays_as_it_is(tmp_path: Path) -> None:
    """It has the costs of its file, and its open dimensions stay open."""
    onnx_model = matrix_product()
    before = onnx_model.SerializeToString()
    path = tmp_path / "own.onnx"
    path.write_bytes(before)
    costs = []
    for x in (onnx_model, path, str(path)):
        model = boundmark.load(x, dims={"batch": 3}, device="nvidia-a100")
        assert isinstance(model.source, ComputationGraph)
        costs.append(boundmark.solve(model, "pipeline", k=1, quiet=True).cost)
    assert costs[0] == costs[1] == costs[2]
    assert onnx_model.SerializeToString() == before
    assert boundmark.load(onnx_model).notes


def test_a_program_of_torch_in_a_file(tmp_path: Path) -> None:
    """Torch is not needed."""
    model = boundmark.load(torch_archives.write(tmp_path, torch_archives.two_layers()))
    assert boundmark.solve(model, k=2, quiet=True).is_optimal


class FakeModule:
    """What is asked of a `torch.nn.Module`."""

    training = True

    def modules(self) -> list["FakeModule"]:
        """Return all parts."""
        return [self]

    def eval(self) -> None:
        """Leave training."""
        self.training = False


FakeModule.__module__ = "torch.nn.modules.module"
FakeModule.__name__ = "Module"


def fake_torch(export: Callable[..., Any]) -> ModuleType:
    """Return a module in the place of torch."""
    module = ModuleType("torch")
    vars(module)["export"] = SimpleNamespace(export=export)
    return module


@pytest.mark.parametrize(
    ("example", "expected"),
    [((1,), (False, (1,), None)), (1, (False, (1,), None)), ({"x": 1}, (False, (), {"x": 1}))],
)
def test_modules_that_do_not_export(
    monkeypatch: pytest.MonkeyPatch, example: object, expected: object
) -> None:
    """The sentence has the first line of torch's reason; the module's mode is what it was."""
    module, seen = FakeModule(), []

    def export(given: FakeModule, args: Any, kwargs: Any) -> None:
        seen.append((given.training, args, kwargs))
        raise RuntimeError("data-dependent\nand more")

    monkeypatch.setitem(sys.modules, "torch", fake_torch(export))
    with pytest.raises(boundmark.Error, match=r"cannot record Module: RuntimeError: data-dep.*; e"):
        boundmark.load(module, example_inputs=example)
    assert seen == [expected]
    assert module.training
    with pytest.raises(boundmark.Error, match=r"needs example inputs.*expected example_inputs="):
        boundmark.load(FakeModule())


@pytest.mark.slow
def test_modules_and_programs_of_torch_are_what_their_files_are(tmp_path: Path) -> None:
    """In memory and as a file, a model has the same operators."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
        program = torch.export.export(layers.eval(), (torch.zeros(3, 8),))
        torch.export.save(program, tmp_path / "own.pt2")
        loaded = [
            boundmark.load(layers.train(), example_inputs=torch.zeros(3, 8)),
            boundmark.load(program),
            boundmark.load(tmp_path / "own.pt2"),
        ]
    assert layers.training
    assert loaded[0].dataset == "torch"
    first, *others = (model.source for model in loaded)
    for source in others:
        assert source.names == first.names
        assert source.flops.tolist() == first.flops.tolist()


def changed(node: str = "b", **costs: Any) -> "nx.DiGraph[str]":
    """Return the chain with other costs of a node; None for none."""
    graph = digraph()
    for name, value in costs.items():
        if value is None:
            del graph.nodes[node][name]
        else:
            graph.nodes[node][name] = value
    return graph


def cyclic() -> "nx.DiGraph[str]":
    """Return the chain with an edge back."""
    graph = digraph()
    graph.add_edge("e", "a")
    return graph


def without(frame: str, column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames without a column of one."""
    nodes, edges = frames()
    if frame == "nodes":
        return nodes.drop(columns=column), edges
    return nodes, edges.drop(columns=column)


def renamed(first: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames with another name of the first node."""
    nodes, edges = frames()
    return nodes.assign(name=[first, *list(WORK)[1:]]), edges


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (nx.DiGraph, "the graph has no nodes; expected at least one."),
        (nx.Graph, "the graph has no directions; expected a networkx.DiGraph."),
        (cyclic, "the edges form a cycle, "),
        (lambda: changed(work=-1), "work of node 'b' is -1; expected a non-negative integer."),
        (lambda: changed(work=1.5), "work of node 'b' is 1.5; expected a non-negative integer."),
        (lambda: changed(transfer=float("nan")), "transfer of node 'b' is nan; expected a non-neg"),
        (lambda: changed(work="2"), "work of node 'b' is '2'; expected a non-negative integer."),
        (lambda: changed(work=None), "node 'b' has no attribute 'work'; expected an integer numbe"),
        (lambda: changed(work=2**60), "the costs add up to 1.15e+18 ticks; expected at most 2^53"),
        (
            lambda: without("nodes", "work"),
            "the frame of nodes has no column 'work'; expected name, work, transfer, found name, t",
        ),
        (
            lambda: without("edges", "target"),
            "the frame of edges has no column 'target'; expected source, target, found source.",
        ),
        (
            lambda: (frames()[0], pd.DataFrame({"source": ["a"], "target": ["z"]})),
            "an edge names 'z', which is no node; expected names of nodes.",
        ),
        (
            lambda: (pd.concat([frames()[0]] * 2), frames()[1]),
            "2 nodes are called 'a'; expected unique names.",
        ),
        (lambda: 42, "model is 42; expected a path, the name of a data set's member, a netw"),
        (lambda: "no-such-thing", "there is no graph 'no-such-thing'; expected DATASET/GRAPH"),
        (lambda: "missing.onnx", "missing.onnx does not exist; expected a file with a graph."),
        (lambda: "", "model is an empty text; expected a path or the name of a data set's membe"),
        (Path.cwd, f"{Path.cwd()} is a directory; expected a file, or a folder with config.json."),
        (lambda: "x" * 5000, f"there is no graph '{'x' * 76}...; expected DATASET/GRAPH"),
        (lambda: frames()[0], "model is name work transfer 0 a 1 1 1 b 2 1 2 c 3 1 3 d 4 1 4 e 5"),
        (lambda: changed(work=10**5000), "work of node 'b' is an integer too long to be shown, b"),
        (lambda: renamed(None), "the name of node 0 is "),
        (lambda: renamed(["a"]), "the name of node 0 is ['a']; expected a text."),
    ],
)  # fmt: skip
def test_models_that_are_none(make: Callable[[], Any], message: str) -> None:
    """One sentence says what was expected."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.load(make())
    assert str(caught.value).startswith(message)


def test_a_results_folder_is_a_path() -> None:
    """What is no path is an error that names the argument and the value."""
    with pytest.raises(boundmark.Error, match=r"folder is 3; expected the path of a folder\."):
        boundmark.results(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "k is missing; problem 'pipeline' needs it."),
        ({"k": 0}, "k is 0; expected an integer of at least 1."),
        ({"k": 2.5}, "k is 2.5; expected an integer of at least 1."),
        ({"k": "2"}, "k is '2'; expected an integer of at least 1."),
        ({"k": True}, "k is True; expected an integer of at least 1."),
        ({"k": 10**5000}, "k is an integer too long to be shown; expected at most 1048576 stages."),
        ({"k": 2, "second": 3}, "there is no argument 'second'; did you mean seconds."),
        ({"k": 2, "time_limit": 3}, "there is no argument 'time_limit'; did you mean seconds."),
        ({"k": 2, "seconds": 0}, "seconds is 0; expected a positive number of at most"),
        ({"k": 2, "seconds": float("nan")}, "seconds is nan; expected a positive number of at"),
        ({"k": 2, "seconds": "2"}, "seconds is '2'; expected a positive number of at most"),
        ({"k": 2, "seed": -1}, "seed is -1; expected an integer from 0 to 2147483647."),
        ({"k": 2, "seed": None}, "seed is None; expected an integer from 0 to 2147483647."),
        ({"k": 2, "workers": 0}, "workers is 0; expected an integer from 1 to 1024."),
        ({"k": 2, "workers": "2"}, "workers is '2'; expected an integer from 1 to 1024."),
        ({"k": 2, "methods": None}, "methods is None; expected a name or a list of names."),
        ({"k": 2, "methods": [3]}, "methods is [3]; expected a name or a list of names."),
        ({"k": 2, "methods": {"exact": 1}}, "methods is {'exact': 1}; expected a name or a list"),
        ({"k": 2, "methods": "packng"}, "there is no method 'packng'; did you mean packing"),
        ({"k": 2, "methods": "zz"}, "there is no method 'zz'; known are max-work, mean-work, node"),
        ({"k": 2, "library": None}, "library is None; expected the path of a folder, True or Fals"),
        ({"k": 2, "library": ""}, "library is ''; expected the path of a folder."),
        ({"k": 2, "out": 3}, "out is 3; expected the path of a folder."),
        ({"k": 2, "out": ""}, "out is ''; expected the path of a folder."),
        ({"k": 2, "out": "a\0b"}, "out is 'a\\x00b'; expected the path of a folder."),
        ({"k": 2, "quiet": "no"}, "quiet is 'no'; expected True or False."),
        ({"k": 2, "problem": 3}, "problem is 3; expected a name: pipeline, "),
        ({"k": 2, "problem": "pipline"}, "there is no problem 'pipline'; did you mean pipeline"),
        ({"stages": 2, "problem": "pipeline"}, "stages is no parameter of problem 'pipeline'; exp"),
        ({"k": 2, "methods": ["memtic"]}, "there is no method 'memtic'; did you mean memetic"),
        ({"k": 2, "device": "nvidia-t4"}, "device is given beside a model; expected it to be giv"),
        ({"problem": "ordering"}, "networkx/graph: a PipelineGraph was given; problem 'ordering'"),
    ],
)  # fmt: skip
def test_requests_that_are_not_understood(given: dict[str, Any], message: str) -> None:
    """One sentence says what was expected."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.solve(digraph(), **{"quiet": True, **given})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("x", "given", "message"),
    [
        ("onnx-light/squeezenet", {"device": 7}, "device is 7; expected a name, a file, a Device"),
        ("onnx-light/squeezenet", {"device": "nvidia-t5"}, "there is no device or cluster 'n"),
        ("onnx-light/squeezenet", {"cache": 7}, "cache is given, which onnx-light/squeezenet, a"),
        ("onnx-light/squeezenet", {"dims": {"n": 1}}, "onnx-light/squeezenet has no open dimens"),
        (digraph(), {"dims": {"n": 1}}, "dims is given, which a networkx graph does not use"),
        (digraph(), {"cache": 7}, "cache is given, but nodes have no param_load; expected both."),
        (digraph(), {"name": 5}, "name is 5; expected a text that is not empty."),
        (digraph(), {"name": ""}, "name is ''; expected a text that is not empty."),
        (streamed(), {"cache": True}, "cache is True; expected a non-negative integer number of"),
        (matrix_product(), {"dims": "batch=8"}, "dims is 'batch=8'; expected a dict of sizes by"),
        (matrix_product(), {"dims": {1: 8}}, "dims is {1: 8}; expected a dict of sizes by name"),
        (matrix_product(), {"dims": {"batch": "8"}}, "dimension 'batch' is '8'; expected 1 to"),
        (matrix_product(), {"dims": {"batch": 8.5}}, "dimension 'batch' is 8.5; expected 1 to"),
    ],
)  # fmt: skip
def test_what_a_model_does_not_use(x: Any, given: dict[str, Any], message: str) -> None:
    """It is refused, not ignored."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.load(x, **given)
    assert str(caught.value).startswith(message)


def test_devices_of_the_wrong_kind() -> None:
    """A cluster of several kinds is none for stages; a graph with costs needs none."""
    model = boundmark.load("onnx-light/squeezenet", device="moirai-inter-server")
    with pytest.raises(boundmark.Error, match="problem 'pipeline' needs"):
        boundmark.solve(model, "pipeline", k=2, quiet=True)
    with pytest.raises(boundmark.Error, match="device is 'nvidia-t4', but a PipelineGraph comes"):
        boundmark.solve(boundmark.load(digraph(), device=find_device("nvidia-t4")), k=2)


@pytest.mark.parametrize(
    "solution",
    [
        dict.fromkeys(WORK, 0) | {"e": 1},
        [0, 0, 0, 0, 1],
        pd.Series([0, 0, 0, 0, 1]).to_numpy(),
        pd.DataFrame({"stage": [0, 0, 0, 0, 1], "operator": list(WORK), "more": "x"}),
    ],
)
def test_an_own_solution_is_graded(solution: Any) -> None:
    """In every form: 11 ticks, where 10 are the least."""
    answer = boundmark.evaluate(digraph(), solution, quiet=True)
    assert (answer.cost, answer.bound, answer.gap) == (11, 10, pytest.approx(0.1))
    assert answer.method == "given"
    assert "k=2, as the solution has it, because no option says so" in answer.notes
    assert answer.solution["stage"].tolist() == [0, 0, 0, 0, 1]


def test_solutions_go_round(tmp_path: Path) -> None:
    """A frame that `solve` returns is one that `evaluate` takes, also as a file."""
    answer = boundmark.solve(digraph(), k=3, quiet=True)
    assert boundmark.evaluate(digraph(), answer.solution, k=3, quiet=True).cost == answer.cost
    path = tmp_path / "mine.csv"
    answer.solution.to_csv(path, index=False)
    assert boundmark.evaluate(digraph(), path, k=3, quiet=True).cost == answer.cost


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ({"a": 0}, "the solution: 4 of 5 operators are left out: 'b', 'c', 'd', 'e'; expected a s"),
        ({**dict.fromkeys(WORK, 0), "z": 0}, "the solution: there is no operator 'z' in the mode"),
        (pd.DataFrame({"operator": list(WORK)}), "the solution: the frame has no column 'stage'; "),
        (dict.fromkeys(WORK, 0.5), "the solution: stage of 'a' is 0.5; expected an integer from"),
        ([0, 1, 0, 0, 0], "the solution: the stages cannot run one after another: the edges form"),
        (7, "the solution is 7; expected a pandas.DataFrame, a dict or a list."),
        (None, "the solution is None; expected a pandas.DataFrame, a dict or a list."),
        ("", "solution is ''; expected the path of a file."),
        ("missing.csv", "missing.csv does not exist; expected a solution."),
    ],
)  # fmt: skip
def test_solutions_that_are_none(solution: Any, message: str) -> None:
    """One sentence says what was expected."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.evaluate(digraph(), solution, quiet=True)
    assert str(caught.value).startswith(message)


def test_certificates_are_saved_and_forged_ones_refused(tmp_path: Path) -> None:
    """The files are what the command line checks."""
    answer = boundmark.solve(digraph(), k=2, quiet=True)
    proof = answer.certificate
    assert proof is not None
    paths = tmp_path / "certificate.json", tmp_path / "instance.json"
    proof.save(*paths)
    done = subprocess.run(
        [sys.executable, "-m", "boundmark.bounds.checker", paths[1], paths[0]],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "10" in done.stdout
    forged = boundmark.BoundCertificate({**proof.document, "bound": 11}, proof.instance)
    with pytest.raises(boundmark.Error, match="the checker rejects the certificate: "):
        forged.check()
    for document, instance, message in (
        (None, proof.instance, "document is None; expected a dict with kind and bound."),
        ({"kind": "x"}, proof.instance, "document is {'kind': 'x'}; expected a dict with kind"),
        (proof.document, digraph(), "instance is <networkx"),
    ):
        with pytest.raises(boundmark.Error) as caught:
            boundmark.BoundCertificate(document, instance)  # type: ignore[arg-type]
        assert str(caught.value).startswith(message)
    for path, message in (("", "path is ''; expected the path of a file."), (".", ". is a folder")):
        with pytest.raises(boundmark.Error) as caught:
            proof.save(path)
        assert str(caught.value).startswith(message)


def test_answers_are_kept_where_asked(tmp_path: Path) -> None:
    """A folder of results, which the second call uses."""
    out = tmp_path / "out"
    first = boundmark.solve(digraph(), k=2, quiet=True, out=out)
    again = boundmark.solve(digraph(), k=2, quiet=True, out=out)
    assert first.folder == out
    assert again.cost == first.cost
    assert len(boundmark.results(out).best) == 1


@pytest.mark.parametrize(
    ("model", "problem", "parameters"),
    [
        ("onnx-light/squeezenet", "pipeline", {"k": 4}),
        ("onnx-light/squeezenet", "ordering", {}),
        ("onnx-light/squeezenet", "placement", {}),
    ],
)
def test_solutions_are_drawn(model: str, problem: str, parameters: dict[str, Any]) -> None:
    """Into new axes, or given ones."""
    chosen = {"pipeline": "balanced-work", "ordering": "default-order", "placement": "m-etf"}
    answer = boundmark.solve(model, problem, methods=chosen[problem], quiet=True, **parameters)
    axes = answer.plot()
    assert axes.has_data()
    assert answer.plot(axes) is axes
    assert not answer.solution.empty
    mpl.pyplot.close("all")


def test_nothing_to_draw() -> None:
    """Bounds alone have no solution."""
    answer = boundmark.solve(digraph(), k=2, methods=["max-work"], quiet=True)
    assert (answer.cost, answer.bound, answer.gap) == (None, 5, None)
    assert answer.solution.empty
    assert answer.losses.empty
    with pytest.raises(boundmark.Error, match="there is no solution to draw"):
        answer.plot()


def test_methods_are_listed() -> None:
    """As a frame, of one problem or of all."""
    found = boundmark.methods("pipeline")
    assert set(found["problem"]) == {"pipeline"}
    assert found.columns.tolist() == ["method", "problem", "kind", "parameters", "summary"]
    assert set(boundmark.methods()["problem"]) > {"pipeline", "ordering"}
    with pytest.raises(boundmark.Error, match="there is no problem 'pipline'; did you mean"):
        boundmark.methods("pipline")


def halves(instance: PipelineInstance) -> list[int]:
    """Return a partition into two."""
    return [2 * node // instance.nodes for node in range(instance.nodes)]


def test_an_own_function_beside_methods() -> None:
    """Each instance has a row for each, with gaps to the best bound of all."""
    found = boundmark.benchmark(
        halves, [digraph(), frames()], ["balanced-work"], k=(2, 3), seconds=5, quiet=True
    )
    assert found["method"].tolist() == ["halves", "balanced-work"] * 4
    assert found["instance"].iloc[0] == "networkx/graph k=2"
    assert found["cost"].tolist()[::2] == [10, 10, 10, 10]
    assert set(found["status"]) == {"ok"}
    assert (found["best_bound"] <= found["cost"]).all()
    assert found["gap"].iloc[2] == pytest.approx(10 / 7 - 1)


def test_a_function_that_streams() -> None:
    """The best of what it reports counts."""

    def streaming(instance: Any, budget: Any, seed: int, progress: Any) -> None:
        assert not budget.is_spent()
        assert seed == 7
        progress.solution([0] * instance.nodes)
        progress.solution(Partition([0, 0, 0, 1, 1]))

    found = boundmark.benchmark(streaming, digraph(), k=2, seed=7, quiet=True)
    assert found["cost"].tolist() == [10]
    assert found["gap"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("function", "detail"),
    [
        (lambda instance: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda instance: None, "nothing was returned; expected a solution, or the data of one."),
        (lambda instance: [0], "4 of 5 operators are left out"),
        (lambda instance: {"a": 0, "z": 1}, "there is no operator 'z' in the model"),
        (lambda instance: Partition([1, 0, 1, 0, 1]), "the stages cannot run one after another"),
    ],
)
def test_functions_that_fail_have_a_row(function: Callable[[Any], Any], detail: str) -> None:
    """It says why there is no cost."""
    found = boundmark.benchmark(function, digraph(), k=2, quiet=True)
    assert found["status"].tolist() == ["error"]
    assert found["detail"].iloc[0].startswith(detail)
    assert found["cost"].isna().all()


def test_functions_that_are_none() -> None:
    """One sentence says what was expected."""
    with pytest.raises(boundmark.Error, match=r"two takes 2 arguments; expected two\(instance"):
        boundmark.benchmark(two, digraph(), k=2)


@pytest.mark.parametrize(
    ("function", "instances", "given", "message"),
    [
        (42, "", {}, "function is 42; expected a function or a Method."),
        ("memetic", "", {}, "function is 'memetic'; expected a function or a Method; names of"),
        (halves, [], {}, "there are no instances; expected at least one."),
        (halves, {"a": 1}, {}, "instances is {'a': 1}; expected a model or a list of models."),
        (halves, None, {}, "instances: model is None; expected a path, the name of a data set's"),
        (halves, "", {"k": []}, "k has no values; expected at least one."),
        (halves, "", {"k": [2, "3"]}, "k is '3'; expected an integer of at least 1."),
        (halves, "", {"workers": "2"}, "workers is '2'; expected an integer from 1 to 1024."),
        (halves, "", {"workers": 1.5}, "workers is 1.5; expected an integer from 1 to 1024."),
        (halves, "", {"against": None}, "against is None; expected a name or a list of names."),
        (halves, "", {"against": "m-etf"}, "method 'm-etf' treats 'placement'; expected methods"),
        (halves, "", {"device": "nvidia-t4"}, "device is given beside a model; expected it to be"),
        (halves, "", {"quiet": 0}, "quiet is 0; expected True or False."),
    ],
)  # fmt: skip
def test_comparisons_that_are_not_understood(
    function: Any, instances: Any, given: dict[str, Any], message: str
) -> None:
    """One sentence says what was expected; "" stands for a graph."""
    with pytest.raises(boundmark.Error) as caught:
        boundmark.benchmark(
            function, digraph() if instances == "" else instances, **{"k": 2, **given}
        )
    assert str(caught.value).startswith(message)


def test_functions_that_do_not_say_what_they_take() -> None:
    """Compiled ones are called with an instance; what goes wrong then is in the row."""
    found = boundmark.benchmark(max, digraph(), k=2, quiet=True)
    assert found["status"].tolist() == ["error"]
    assert found["detail"].iloc[0].startswith("TypeError: ")


def two(one: int, other: int) -> None:
    """Take too much."""


def test_ctrl_c_keeps_the_rows_until_then() -> None:
    """A comparison that is ended returns what it knows."""

    def interrupted(instance: PipelineInstance) -> list[int]:
        if instance.k == 3:
            raise KeyboardInterrupt
        return halves(instance)

    found = boundmark.benchmark(interrupted, digraph(), k=(2, 3), quiet=True)
    assert found["instance"].tolist() == ["networkx/graph k=2"]


@pytest.mark.slow
def test_ctrl_c_ends_a_search_with_its_best() -> None:
    """What methods have found by then is verified and returned, and a note tells."""
    boundmark.solve("regal-style/erdos-renyi-1", k=8, seconds=0.1, quiet=True)
    timer = threading.Timer(4.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    answer = boundmark.solve("regal-style/erdos-renyi-1", k=8, seconds=60, quiet=True)
    timer.join()
    assert answer.cost is not None
    assert answer.bound is not None
    assert "Ctrl-C ended the search" in answer.notes
    assert answer.seconds < 30


def test_graphs_of_boundmark_are_models() -> None:
    """Whoever has one needs no file."""
    graph = boundmark.load(digraph()).source
    assert isinstance(graph, PipelineGraph)
    assert boundmark.solve(PipelineInstance(graph, 2), quiet=True).cost == 10
    loaded = boundmark.load(boundmark.load(graph), device="nvidia-t4")
    assert loaded.device is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a small suite."""
    own = tmp_path_factory.mktemp("suite")
    suite = own / "small.toml"
    suite.write_text(
        """
description = "Small."
problem = "pipeline"
time_limit_seconds = 5
memory_limit_gib = 1
methods = ["max-work", "mean-work", "balanced-work", "uniform"]
[[instances]]
dataset = "onnx-light"
members = ["squeezenet"]
k = [2, 4]
"""
    )
    boundmark.run(suite, own / "out", quiet=True)
    return own / "out"


def test_tasks_that_match_any_filter_are_run(folder: Path, tmp_path: Path) -> None:
    """A filter is one pattern or several."""
    patterns = ["max-work", "k=4 mean-work"]
    suite = folder.parent / "small.toml"
    found = boundmark.run(suite, tmp_path / "out", filter=patterns, quiet=True)
    assert set(found.tasks["method"]) == {"max-work", "mean-work"}


def test_results_are_frames(folder: Path) -> None:
    """Of tasks, of instances and of methods, with columns for parameters."""
    found = boundmark.results(folder)
    assert len(found.tasks) == 8
    assert found.best["param_k"].tolist() == [2, 4]
    assert (found.best["objective"] >= found.best["bound"]).all()
    assert set(found.methods["method"]) > {"max-work", "balanced-work"}
    assert set(found.traces["task_id"]) <= set(found.tasks["task_id"])
    assert found.rejected.empty
    assert "tasks 8" in repr(found)
    assert "balanced-work" in found._repr_html_()


def test_the_plots_of_reports(folder: Path) -> None:
    """Functions of a frame and axes."""
    found = boundmark.results(folder)
    for axes in (
        boundmark.plots.gaps(found.best),
        boundmark.plots.gap_distribution(found.best, by="k"),
        boundmark.plots.runtime(found.tasks),
        boundmark.plots.profile(found.tasks),
    ):
        assert axes.has_data()
    mpl.pyplot.close("all")


def test_frames_that_cannot_be_drawn(folder: Path) -> None:
    """One sentence says what was expected."""
    best = boundmark.results(folder).best
    for frame, by, message in (
        (best, "j", "by is 'j'; expected a parameter of the instances: 'k'."),
        (best.drop(columns="gap"), None, "the frame has no column 'gap'; expected one from bound"),
        (best, ["k"], r"by is \['k'\]; expected a parameter of the instances: 'k'."),
        (None, None, "the frame is None; expected one from boundmark.results."),
        (best[:0], None, "the frame has nothing that the plot of 'gaps' could show"),
        (
            pd.concat([best, best.assign(problem="ordering")]), None,
            "the frame is about the problems ordering, pipeline; expected one, such as",
        ),
    ):  # fmt: skip
        with pytest.raises(boundmark.Error, match=message):
            boundmark.plots.gaps(frame, by=by)
    with pytest.raises(boundmark.Error, match="ax is 3; expected axes of matplotlib"):
        boundmark.plots.gaps(best, 3)  # type: ignore[arg-type]


def test_runs_that_are_not_understood(folder: Path) -> None:
    """One sentence says what was expected."""
    for suite, given, message in (
        ("dmo", {}, "there is no suite 'dmo'; did you mean demo"),
        (3, {}, "suite is 3; expected the name of a suite or the path of a file."),
        ("", {}, "suite is ''; expected the name of a suite or the path of a file."),
        (folder, {}, f"{folder} is no suite file; expected a TOML file whose name ends in .toml"),
        ("demo", {"out": None}, "out is None; expected the path of a folder."),
        ("demo", {"retry": ["tired"]}, "there is no status 'tired'; did you mean timeout"),
        ("demo", {"retry": "tired"}, "there is no status 'tired'; did you mean timeout"),
        ("demo", {"retry": 3}, "retry is 3; expected a name or a list of names."),
        ("demo", {"rerun": None}, "rerun is None; expected a name or a list of names."),
        ("demo", {"seconds": 0}, "seconds is 0; expected a positive number of at most 31536000."),
        ("demo", {"seconds": math.nan}, "seconds is nan; expected a positive number of at most"),
        ("demo", {"workers": 1.5}, "workers is 1.5; expected an integer from 1 to 1024."),
        ("demo", {"filter": 3}, "filter is 3; expected a pattern or a list of patterns."),
        ("demo", {"small": "no"}, "small is 'no'; expected True or False."),
    ):  # fmt: skip
        with pytest.raises(boundmark.Error) as caught:
            boundmark.run(suite, **{"out": folder, "quiet": True, **given})  # type: ignore[arg-type]
        assert str(caught.value).startswith(message)


def test_results_that_are_not_understood(folder: Path) -> None:
    """An empty path is not the current folder, and a text no truth value."""
    with pytest.raises(boundmark.Error, match="folder is ''; expected the path of a folder"):
        boundmark.results("")
    with pytest.raises(boundmark.Error, match="unchecked is 'no'; expected True or False"):
        boundmark.results(folder, unchecked="no")  # type: ignore[arg-type]
