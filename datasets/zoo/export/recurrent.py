"""Recurrent networks, step by step: translation (Wu et al., arXiv:1609.08144) and WaveRNN."""

from typing import Any

import torch
from torch import nn


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
