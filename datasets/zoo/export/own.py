"""Recipes of the architectures in `modules`."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from boundmark.datasets.zoo.export.evoformer import Evoformer
from boundmark.datasets.zoo.export.mixture import MixtureDecoder
from boundmark.datasets.zoo.export.recipe import Recipe
from boundmark.datasets.zoo.export.recurrent import Translator, WaveRnn
from boundmark.datasets.zoo.export.unet import DiffusionUNet, UNet

_ALPHAFOLD = "Evoformer of Jumper et al., Nature 2021, sized after Moirai, Table IV"


def _recipe(
    name: str,
    source: str,
    kind: Callable[..., torch.nn.Module],
    settings: Mapping[str, Any],
    sizes: Mapping[str, tuple[int, ...]],
    words: tuple[str, ...] = (),
    dtype: torch.dtype = torch.float32,
) -> Recipe:
    """Return the recipe of a module; inputs named in `words` are numbers of words."""

    def inputs() -> dict[str, torch.Tensor]:
        return {
            key: torch.zeros(size, dtype=torch.long) if key in words else torch.empty(size)
            for key, size in sizes.items()
        }

    configuration = {**settings, "dtype": str(dtype).removeprefix("torch.")}
    configuration["inputs"] = {key: list(size) for key, size in sizes.items()}
    return Recipe(name, source, configuration, lambda: kind(**settings), inputs, dtype=dtype)


def _evoformer(name: str, blocks: int, msa: int, pair: int, heads: int, pair_heads: int) -> Recipe:
    settings = {
        "blocks": blocks,
        "msa": msa,
        "pair": pair,
        "heads": heads,
        "pair_heads": pair_heads,
    }
    sizes = {"m": (128, 256, msa), "z": (256, 256, pair)}
    return _recipe(name, _ALPHAFOLD, Evoformer, settings, sizes)


RECIPES = (
    _evoformer("evoformer-87m", 48, 256, 128, 8, 4),
    _evoformer("evoformer-930m", 64, 512, 640, 16, 20),
    _evoformer("evoformer-2.4b", 96, 1024, 480, 32, 15),
    _evoformer("evoformer-3.2b", 128, 1024, 480, 32, 15),
    _recipe(
        "mixtral-8x7b",
        "Jiang et al., arXiv:2401.04088; every expert takes an equal share of the tokens",
        MixtureDecoder,
        {"layers": 32, "width": 4096, "inner": 14336, "heads": 32, "shared": 8, "words": 32000,
         "length": 2048},
        {"words": (1, 2048)}, ("words",), torch.float16,
    ),
    _recipe("unet", "Ronneberger et al., MICCAI 2015, with padded convolutions", UNet, {},
            {"x": (1, 3, 512, 512)}),
    _recipe("diffusion-unet", "Rombach et al., CVPR 2022: the denoiser of Stable Diffusion 1",
            DiffusionUNet, {}, {"x": (2, 4, 64, 64), "steps": (2, 320), "context": (2, 77, 768)}),
    _recipe("gnmt", "Wu et al., arXiv:1609.08144: 8 layers, unrolled over 24 words", Translator,
            {"layers": 8, "units": 1024, "words": 32000}, {"source": (64, 24), "target": (64, 24)},
            ("source", "target")),
    _recipe("wavernn", "Kalchbrenner et al., ICML 2018: 896 units, unrolled over 64 samples",
            WaveRnn, {"units": 896}, {"samples": (1, 64, 3)}),
)  # fmt: skip
