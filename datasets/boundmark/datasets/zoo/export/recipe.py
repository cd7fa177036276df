"""What it takes to make one graph of the zoo."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch


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
    """

    name: str
    source: str
    configuration: Mapping[str, Any]
    module: Callable[[], torch.nn.Module]
    inputs: Callable[[], Mapping[str, Any]]
    output: str = ""
    dtype: torch.dtype = torch.float32


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
        module = _on_meta(recipe.module).to(recipe.dtype).eval().requires_grad_(False)
    with torch.device("meta"), torch.no_grad():
        inputs = {
            name: value.to(recipe.dtype) if torch.is_floating_point(value) else value
            for name, value in recipe.inputs().items()
        }
        program = torch.export.export(_Wrapped(module, recipe.output), (), inputs, strict=False)
        if _writes_in_place(program):
            program = program.run_decompositions({})
    weights = {id(weight): weight.numel() for weight in module.parameters()}
    return Exported(program, sum(weights.values()))


def _writes_in_place(program: Any) -> bool:
    """Whether some operator changes one of its inputs; torch's names of these end in one dash."""
    names = (getattr(node.target, "_opname", "") for node in program.graph.nodes)
    return any(name.endswith("_") and not name.endswith("__") for name in names)


def _on_meta(make: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Return a module without contents."""
    try:
        with torch.device("meta"):
            return make()
    except NotImplementedError:
        # Some architectures compute their widths with tensors.
        return make().to("meta")
