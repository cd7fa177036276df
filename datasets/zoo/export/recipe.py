"""Recipes: each makes one graph of the zoo, of a forward pass or of a step of training.

For training, torch's autograd runs backwards through the recorded forward pass while every operator
that it runs is recorded as well. What the forward pass computed and the backward pass reads are
tensors of the same graph: saved activations, with their sizes. Optimisers are left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from boundmark.datasets.readers.torch_export.graph_module import IS_GRADIENT, functional


@dataclass(frozen=True)
class Recipe:
    """How to make one graph.

    Attributes
    ----------
    name
        In the zoo: lower-case letters, digits, dots and dashes.
    source
        The architecture and who published it, in a sentence.
    configuration
        What the architecture is set to, for the record.
    module
        Makes the module; called with `meta` as torch's default device.
    inputs
        Makes the arguments of its `forward` by name, likewise.
    output
        Attribute of the result that counts; empty for all of it.
    dtype
        Type of the weights.
    is_training
        Whether the graph is a step of training: the loss of logits, given ``labels``, and the
        gradients of all weights.
    """

    name: str
    source: str
    configuration: Mapping[str, Any]
    module: Callable[[], torch.nn.Module]
    inputs: Callable[[], Mapping[str, Any]]
    output: str = ""
    dtype: torch.dtype = torch.float32
    is_training: bool = False


def for_training(recipe: Recipe) -> Recipe:
    """Return the recipe of a step of training; labels are like the last of the inputs."""

    def inputs() -> dict[str, Any]:
        given = dict(recipe.inputs())
        return {**given, "labels": torch.zeros_like(list(given.values())[-1])}

    return replace(
        recipe,
        name=f"{recipe.name}-training",
        configuration={**recipe.configuration, "training": "loss and gradients, no dropout"},
        inputs=inputs,
        is_training=True,
    )


def image(batch: int, height: int, width: int | None = None) -> dict[str, Any]:
    """Return the configuration of an input of images."""
    return {"batch": batch, "image": [3, height, width or height]}


@dataclass(frozen=True)
class Exported:
    """A module's recorded program, and the number of its weights."""

    program: Any
    parameters: int
    prefix: str = field(default="model.")


class _Wrapped(torch.nn.Module):
    """A module with one output of several."""

    def __init__(self, model: torch.nn.Module, output: str) -> None:
        super().__init__()
        self.model = model
        self.output = output

    def forward(self, **inputs: Any) -> Any:
        result = self.model(**inputs)
        if not self.output:
            return result
        return result[self.output] if isinstance(result, dict) else getattr(result, self.output)


def exported(recipe: Recipe) -> Exported:
    """Record a recipe's module on its inputs, as a program without in-place writes."""
    with torch.no_grad():
        module = _on_meta(recipe.module).to(recipe.dtype).eval()
        module.requires_grad_(recipe.is_training)
    with torch.device("meta"), torch.set_grad_enabled(recipe.is_training):
        inputs = {
            name: value.to(recipe.dtype) if torch.is_floating_point(value) else value
            for name, value in recipe.inputs().items()
        }
        wrapped = WithLoss(module) if recipe.is_training else _Wrapped(module, recipe.output)
        program = torch.export.export(wrapped, (), inputs, strict=False)
        program = functional(program)
    if recipe.is_training:
        program = with_gradients(program)
    weights = {id(weight): weight.numel() for weight in module.parameters()}
    return Exported(program, sum(weights.values()))


def _on_meta(make: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Return a module without contents."""
    try:
        with torch.device("meta"):
            return make()
    except NotImplementedError:
        # Some architectures compute their widths with tensors.
        return make().to("meta")


@dataclass(frozen=True)
class TrainingProgram:
    """A recorded step of training, with the interface that `graph_module.to_graph` reads.

    Attributes
    ----------
    graph
        Its result is the loss, then the gradients.
    graph_signature
        Which of its placeholders are weights.
    """

    graph: torch.fx.Graph
    graph_signature: Any


class WithLoss(torch.nn.Module):
    """A model with the cross-entropy of its logits, given ``labels``, as its result."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, labels: Any, **inputs: Any) -> Any:
        """Return the mean over all positions."""
        logits = self.model(**inputs).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def with_gradients(program: Any) -> TrainingProgram:
    """Record the gradients of a program's loss, its only output, with respect to its weights.

    Weights that two modules share are one placeholder of the program and have one gradient; other
    names of theirs are placeholders that nobody uses.
    """
    signature = program.graph_signature
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    weights = [
        at
        for at, node in enumerate(placeholders)
        if node.name in signature.inputs_to_parameters and node.users
    ]

    def step(*values: Any) -> tuple[Any, ...]:
        (loss,) = torch.fx.Interpreter(program.graph_module).run(*values)
        # Tells the recorder from which operator of the forward pass a gradient comes.
        setup_stacktrace_preservation_hooks([loss.grad_fn])
        return loss, *torch.autograd.grad(loss, [values[at] for at in weights])

    shapes = [node.meta["val"] for node in placeholders]
    with next(one.fake_mode for one in shapes if hasattr(one, "fake_mode")), preserve_node_meta():
        values = [one.detach().requires_grad_(at in weights) for at, one in enumerate(shapes)]
        graph = make_fx(step)(*values).graph
    recorded = (node for node in graph.nodes if node.op == "placeholder")
    for node, original in zip(recorded, placeholders, strict=True):
        node.name = original.name
    _name_gradients(graph)
    return TrainingProgram(graph, signature)


def _name_gradients(graph: torch.fx.Graph) -> None:
    """Say of each gradient's operator which module's forward pass it belongs to.

    A gradient has the number of the operator that it is the gradient of. Sums of gradients of a
    tensor that several operators read have the number of none, which is the largest, and belong
    where the last of the gradients does.
    """
    calls = [node for node in graph.nodes if node.op == "call_function"]
    of_none = max(node.meta["seq_nr"] for node in calls)
    modules: dict[int, Any] = {}
    for node in calls:
        number, stack = node.meta["seq_nr"], node.meta.get("nn_module_stack")
        if stack is not None:
            modules.setdefault(number, stack)
            continue
        sources = (one.meta.get("nn_module_stack") for one in reversed(node.all_input_nodes))
        last: Any = next((one for one in sources if one is not None), {})
        node.meta["nn_module_stack"] = last if number == of_none else modules.get(number, last)
        node.meta[IS_GRADIENT] = True
