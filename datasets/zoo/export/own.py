"""Networks that are written here, and their recipes; U-Nets are in `unet`.

- The Evoformer of AlphaFold 2 (J. Jumper et al., Nature 2021, supplement, Algorithms 6 to 15).
- Recurrent networks, step by step: translation (Wu et al., arXiv:1609.08144) and WaveRNN.
- A decoder with a mixture of experts in each layer (Jiang et al., arXiv:2401.04088).
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from boundmark.datasets.zoo.export.recipe import Recipe
from boundmark.datasets.zoo.export.unet import DiffusionUNet, UNet


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


class Step(nn.Module):
    """One step of an LSTM, made of its operators."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.inputs, self.state = nn.Linear(inputs, 4 * units), nn.Linear(units, 4 * units)

    def forward(self, x: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
        gates = self.inputs(x) + self.state(hidden)
        enter, forget, candidate, leave = gates.chunk(4, -1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(cell), cell


class Layer(nn.Module):
    """An LSTM layer, unrolled over a list of steps."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.step = Step(inputs, units)

    def forward(self, xs: list[Any]) -> list[Any]:
        hidden = torch.zeros(xs[0].shape[0], self.units, dtype=xs[0].dtype)
        cell, found = hidden, []
        for x in xs:
            hidden, cell = self.step(x, hidden, cell)
            found.append(hidden)
        return found


class Translator(nn.Module):
    """Encoder, decoder with attention in its first layer, and scores of words, as in GNMT.

    Layers from the third on add their input to their output; the first of the encoder reads in
    both directions.
    """

    def __init__(self, layers: int, units: int, words: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, units), nn.Embedding(words, units)
        self.forwards, self.backwards = Layer(units, units), Layer(units, units)
        widths = [2 * units] + [units] * (layers - 2)
        self.encoder = nn.ModuleList(Layer(width, units) for width in widths)
        self.first = Step(2 * units, units)
        self.decoder = nn.ModuleList(Layer(2 * units, units) for _ in range(layers - 1))
        self.query = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(units, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)
        self.head = nn.Linear(units, words)
        self.units = units

    def forward(self, source: Any, target: Any) -> Any:
        xs = list(self.source(source).unbind(1))
        backwards = self.backwards(xs[::-1])[::-1]
        xs = [torch.cat(pair, -1) for pair in zip(self.forwards(xs), backwards, strict=True)]
        for number, layer in enumerate(self.encoder):
            ys = layer(xs)
            xs = ys if number == 0 else [x + y for x, y in zip(xs, ys, strict=True)]
        memory = torch.stack(xs, 1)
        keys = self.key(memory)
        hidden = torch.zeros(source.shape[0], self.units, dtype=memory.dtype)
        context, cell = hidden, hidden
        ys, contexts = [], []
        for word in self.target(target).unbind(1):
            hidden, cell = self.first(torch.cat([word, context], -1), hidden, cell)
            scores = self.score(torch.tanh(keys + self.query(hidden).unsqueeze(1)))
            context = (torch.softmax(scores, 1) * memory).sum(1)
            ys.append(hidden)
            contexts.append(context)
        for number, layer in enumerate(self.decoder):
            zs = layer([torch.cat(pair, -1) for pair in zip(ys, contexts, strict=True)])
            ys = zs if number == 0 else [y + z for y, z in zip(ys, zs, strict=True)]
        return self.head(torch.stack(ys, 1))


class WaveRnn(nn.Module):
    """Samples of 16 bits in two halves (Kalchbrenner et al., ICML 2018, Equation 2), unrolled."""

    def __init__(self, units: int, levels: int = 256) -> None:
        super().__init__()
        self.state = nn.Linear(units, 3 * units, bias=False)
        self.coarse_in, self.fine_in = nn.Linear(2, 3 * units // 2), nn.Linear(3, 3 * units // 2)
        self.coarse = nn.Sequential(
            nn.Linear(units // 2, units // 2), nn.ReLU(), nn.Linear(units // 2, levels)
        )
        self.fine = nn.Sequential(
            nn.Linear(units // 2, units // 2), nn.ReLU(), nn.Linear(units // 2, levels)
        )
        self.units = units

    def forward(self, samples: Any) -> Any:
        state = torch.zeros(samples.shape[0], self.units, dtype=samples.dtype)
        found = []
        for sample in samples.unbind(1):
            given = torch.cat([self.coarse_in(sample[:, :2]), self.fine_in(sample)], -1)
            update, reset, candidate = given.chunk(3, -1)
            update_state, reset_state, candidate_state = self.state(state).chunk(3, -1)
            update = torch.sigmoid(update + update_state)
            reset = torch.sigmoid(reset + reset_state)
            candidate = torch.tanh(reset * candidate_state + candidate)
            state = update * state + (1 - update) * candidate
            coarse, fine = state.chunk(2, -1)
            found.append(
                torch.cat(
                    [torch.softmax(self.coarse(coarse), -1), torch.softmax(self.fine(fine), -1)], -1
                )
            )
        return torch.stack(found, 1)


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
    """Experts that take an equal share of the tokens each, by the largest weights.

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
