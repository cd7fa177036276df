"""The Evoformer of AlphaFold 2 (J. Jumper et al., Nature 2021, supplement, Algorithms 6 to 15)."""

from typing import Any

import torch
from torch import nn


class GatedAttention(nn.Module):
    """Attention along the last but one axis, with gates and a bias of the scores."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads, self.head_width = heads, head_width
        inner = heads * head_width
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, inner, bias=False)
        self.key = nn.Linear(width, inner, bias=False)
        self.value = nn.Linear(width, inner, bias=False)
        self.gate = nn.Linear(width, inner)
        self.output = nn.Linear(inner, width)

    def forward(self, x: Any, bias: Any = None) -> Any:
        x = self.norm(x)
        rows, length, _ = x.shape

        def split(y: Any) -> Any:
            return y.view(rows, length, self.heads, self.head_width).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = torch.matmul(query * self.head_width**-0.5, key.transpose(-1, -2))
        if bias is not None:
            scores = scores + bias
        mixed = torch.matmul(torch.softmax(scores, -1), value).transpose(1, 2)
        gated = torch.sigmoid(self.gate(x)) * mixed.reshape(rows, length, -1)
        return self.output(gated)


class PairBias(nn.Module):
    """A bias of attention scores made of the pair representation."""

    def __init__(self, pair: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(pair)
        self.linear = nn.Linear(pair, heads, bias=False)

    def forward(self, z: Any) -> Any:
        return self.linear(self.norm(z)).permute(2, 0, 1).unsqueeze(0)


class Transition(nn.Module):
    """Two layers, four times as wide in between (Algorithms 9 and 15)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        return self.narrow(torch.relu(self.widen(self.norm(x))))


class OuterProductMean(nn.Module):
    """From the alignment to pairs (Algorithm 10)."""

    def __init__(self, msa: int, pair: int, inner: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(msa)
        self.left, self.right = nn.Linear(msa, inner), nn.Linear(msa, inner)
        self.output = nn.Linear(inner * inner, pair)

    def forward(self, m: Any) -> Any:
        m = self.norm(m)
        rows, length, _ = m.shape
        left = self.left(m).permute(1, 2, 0).reshape(-1, rows)
        right = self.right(m).permute(0, 1, 2).reshape(rows, -1)
        outer = torch.matmul(left, right).view(length, -1, length, right.shape[1] // length)
        return self.output(outer.transpose(1, 2).reshape(length, length, -1) / rows)


class TriangleMultiplication(nn.Module):
    """Update of pairs by outgoing or incoming edges (Algorithms 11 and 12)."""

    def __init__(self, pair: int, inner: int, is_outgoing: bool) -> None:
        super().__init__()
        self.is_outgoing = is_outgoing
        self.norm_in, self.norm_out = nn.LayerNorm(pair), nn.LayerNorm(inner)
        self.left, self.left_gate = nn.Linear(pair, inner), nn.Linear(pair, inner)
        self.right, self.right_gate = nn.Linear(pair, inner), nn.Linear(pair, inner)
        self.gate, self.output = nn.Linear(pair, pair), nn.Linear(inner, pair)

    def forward(self, z: Any) -> Any:
        z = self.norm_in(z)
        left = torch.sigmoid(self.left_gate(z)) * self.left(z)
        right = torch.sigmoid(self.right_gate(z)) * self.right(z)
        # Channels first; sums run over k of z_ik, z_jk or of z_ki, z_kj.
        left, right = left.permute(2, 0, 1), right.permute(2, 0, 1)
        if self.is_outgoing:
            product = torch.matmul(left, right.transpose(-1, -2))
        else:
            product = torch.matmul(left.transpose(-1, -2), right)
        return torch.sigmoid(self.gate(z)) * self.output(self.norm_out(product.permute(1, 2, 0)))


class EvoformerBlock(nn.Module):
    """One block (Algorithm 6)."""

    def __init__(self, msa: int, pair: int, heads: int, pair_heads: int) -> None:
        super().__init__()
        self.row_bias = PairBias(pair, heads)
        self.row = GatedAttention(msa, heads, 32)
        self.column = GatedAttention(msa, heads, 32)
        self.msa_transition = Transition(msa)
        self.outer = OuterProductMean(msa, pair, 32)
        self.outgoing = TriangleMultiplication(pair, 128, is_outgoing=True)
        self.incoming = TriangleMultiplication(pair, 128, is_outgoing=False)
        self.start_bias, self.end_bias = PairBias(pair, pair_heads), PairBias(pair, pair_heads)
        self.start = GatedAttention(pair, pair_heads, 32)
        self.end = GatedAttention(pair, pair_heads, 32)
        self.pair_transition = Transition(pair)

    def forward(self, m: Any, z: Any) -> tuple[Any, Any]:
        m = m + self.row(m, self.row_bias(z))
        m = m + self.column(m.transpose(0, 1)).transpose(0, 1)
        m = m + self.msa_transition(m)
        z = z + self.outer(m)
        z = z + self.outgoing(z)
        z = z + self.incoming(z)
        z = z + self.start(z, self.start_bias(z))
        swapped = z.transpose(0, 1)
        z = z + self.end(swapped, self.end_bias(swapped)).transpose(0, 1)
        return m, z + self.pair_transition(z)


class Evoformer(nn.Module):
    """A stack of blocks, and the single representation of the first row."""

    def __init__(self, blocks: int, msa: int, pair: int, heads: int, pair_heads: int) -> None:
        super().__init__()
        made = (EvoformerBlock(msa, pair, heads, pair_heads) for _ in range(blocks))
        self.blocks = nn.ModuleList(made)
        self.single = nn.Linear(msa, msa)

    def forward(self, m: Any, z: Any) -> tuple[Any, Any]:
        for block in self.blocks:
            m, z = block(m, z)
        return self.single(m[0]), z
