"""A decoder with a mixture of experts in each layer (Jiang et al., arXiv:2401.04088)."""

from typing import Any

import torch
from torch import nn


class Rotary(nn.Module):
    """Rotates pairs of channels by angles that grow with the position."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        angles = torch.empty(length, width)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, x: Any) -> Any:
        one, other = x.chunk(2, -1)
        return x * self.cosine + torch.cat([-other, one], -1) * self.sine


class GroupedAttention(nn.Module):
    """Causal attention in which several queries share keys and values."""

    def __init__(self, width: int, heads: int, shared: int, length: int) -> None:
        super().__init__()
        self.heads, self.shared, self.head = heads, shared, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, shared * self.head, bias=False)
        self.value = nn.Linear(width, shared * self.head, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.rotary = Rotary(self.head, length)
        self.register_buffer("mask", torch.empty(length, length))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape

        def split(y: Any, heads: int) -> Any:
            return y.view(batch, length, heads, self.head).transpose(1, 2)

        def repeated(y: Any) -> Any:
            wide = y[:, :, None].expand(-1, -1, self.heads // self.shared, -1, -1)
            return wide.reshape(batch, self.heads, length, self.head)

        query = self.rotary(split(self.query(x), self.heads))
        key = repeated(self.rotary(split(self.key(x), self.shared)))
        value = repeated(split(self.value(x), self.shared))
        scores = torch.matmul(query, key.transpose(-1, -2)) * self.head**-0.5 + self.mask
        mixed = torch.matmul(torch.softmax(scores, -1), value)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class Expert(nn.Module):
    """A gated feed-forward layer."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.widen = nn.Linear(width, inner, bias=False)
        self.narrow = nn.Linear(inner, width, bias=False)
        self.act = nn.SiLU()

    def forward(self, x: Any) -> Any:
        return self.narrow(self.act(self.gate(x)) * self.widen(x))


class Mixture(nn.Module):
    """Experts that each take an equal share of the tokens, those with the largest weights.

    So shapes do not depend on the data: each of E experts runs T * chosen / E of T tokens.
    """

    def __init__(self, width: int, inner: int, experts: int, chosen: int) -> None:
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, inner) for _ in range(experts))

    def forward(self, x: Any) -> Any:
        tokens = x.reshape(-1, x.shape[-1])
        weights = torch.softmax(self.router(tokens), -1)
        share = tokens.shape[0] * self.chosen // len(self.experts)
        total = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            scale, rows = torch.topk(weights[:, number], share, dim=0)
            result = expert(torch.index_select(tokens, 0, rows)) * scale[:, None]
            total = torch.index_add(total, 0, rows, result)
        return total.view(x.shape)


class MixtureLayer(nn.Module):
    """Attention and a mixture of experts."""

    def __init__(self, width: int, inner: int, heads: int, shared: int, length: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = GroupedAttention(width, heads, shared, length)
        self.mixture = Mixture(width, inner, experts=8, chosen=2)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.mixture(self.norm2(x))


class MixtureDecoder(nn.Module):
    """Embedding, layers, and scores of all words."""

    def __init__(
        self,
        layers: int,
        width: int,
        inner: int,
        heads: int,
        shared: int,
        words: int,
        length: int,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        made = (MixtureLayer(width, inner, heads, shared, length) for _ in range(layers))
        self.layers = nn.ModuleList(made)
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, words: Any) -> Any:
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
