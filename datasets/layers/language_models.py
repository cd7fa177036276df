"""Published language models: the dimensions in their configurations on Hugging Face.

`language_models.json` has, for each, the name on https://huggingface.co, the parameters that its
authors state (billions; of models with experts, those that a token meets as well), and the fields
of its configuration that the reader uses.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from boundmark.datasets.layers.hf_config import transformer
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import find
from boundmark.problems.layers import LayerModel


@cache
def published() -> Mapping[str, Mapping[str, Any]]:
    """Return source, stated parameters and configuration of each model."""
    text = files(__package__).joinpath("language_models.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, Any]] = json.loads(text)
    return found


def load(member: str) -> LayerModel:
    """Return a model; raises `UnknownNameError` for another name."""
    return transformer(find("model", member, published())["config"])


def public_name(name: str) -> str:
    """Return what tools call a model: the public name of a member, a file, or its folder."""
    dataset, _, member = name.partition("/")
    if dataset == DATASET.name and member in published():
        return str(published()[member]["source"])
    return str(Path(name).parent) if Path(name).name == "config.json" else name


DATASET = Dataset(
    name="language-models",
    source=LayerModel,
    summary="Dimensions of published language models, layer by layer.",
    members=lambda: tuple(published()),
    load=load,
    about=lambda member: {"source": f"https://huggingface.co/{published()[member]['source']}"},
)
