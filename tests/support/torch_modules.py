"""Small modules of PyTorch with what programs of torch.export may have, and inputs of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Attention(nn.Module):
    """Attention that is taken apart: products, a mask, a softmax, and a reshape that copies."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))
        self.register_buffer("mask", torch.ones(5, 5, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x: Any) -> Any:
        """Return what each position attends to."""
        query, key, value = (
            one(x).view(2, 5, 2, 4).transpose(1, 2) for one in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / 2.0
        scores = scores.masked_fill(~self.mask, float("-inf"))
        return (scores.softmax(-1) @ value).transpose(1, 2).reshape(2, 5, 8)


class Words(nn.Module):
    """Token numbers, positions and types, of which there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (nn.Embedding(n, 8) for n in (30, 5, 1))
        self.norm = nn.LayerNorm(8)

    def forward(self, words: Any, kinds: Any) -> Any:
        """Return the embedded words."""
        places = torch.arange(words.shape[1], device=words.device)
        return self.norm(self.words(words) + self.places(places) + self.kinds(kinds.expand(2, 5)))


class InPlace(nn.Module):
    """Writes in place, also into a part of the memory that a view shows."""

    def forward(self, x: Any) -> Any:
        """Return a scaled and rectified tensor."""
        y = x * 2
        y.relu_()
        y.add_(1)
        return y.flatten(1)


class Cached(nn.Module):
    """Writes into a buffer, and into its input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))

    def forward(self, x: Any) -> Any:
        """Return the sum of all inputs so far."""
        self.seen.add_(x)
        x.mul_(2)
        return self.seen * x


class Regions(nn.Module):
    """Code without gradients and code in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """Return a product of two numbers of bits."""
        with torch.no_grad():
            scale = x.abs().amax(-1, keepdim=True)
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            y = self.linear(x)
        return self.linear(y.float()) / scale


class Several(nn.Module):
    """Operators with several results, of which not all are read; numbers of several types."""

    def forward(self, x: Any) -> Any:
        """Return parts of a tensor, and the largest of its values."""
        first, _, last = x.chunk(3, dim=1)
        values, places = x.topk(2, dim=-1)
        filled = torch.full((2, 3), float("inf"), dtype=torch.float64).to(x.dtype)
        return first + last, values * places, torch.minimum(filled, first.sum(-1, keepdim=True))


def convolutions() -> nn.Module:
    """Return a small network for images, with weights in the order of channels."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Dropout(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    ).to(memory_format=torch.channels_last)  # fmt: skip


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "convolutions": (convolutions, (torch.randn(2, 3, 8, 8),)),
    "attention": (Attention, (torch.randn(2, 5, 8),)),
    "words": (Words, (torch.arange(10).view(2, 5), torch.zeros(1, 5, dtype=torch.int64))),
    "in place": (InPlace, (torch.randn(2, 3, 4),)),
    "regions": (Regions, (torch.randn(2, 8),)),
    "several": (Several, (torch.randn(2, 6),)),
}
