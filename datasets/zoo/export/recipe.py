"""Recipes, each of which makes one graph of the zoo."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from boundmark.datasets.zoo.export.backward import WithLoss, with_gradients
from boundmark.datasets.zoo.export.graph_module import functional


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
    """Record what the module of a recipe runs for its inputs, with nothing written in place."""
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
