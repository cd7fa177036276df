"""What a layer's experts do and keep, which may be elsewhere than the rest of the layer."""

import pytest

from boundmark.datasets.layers.language_models import load
from boundmark.problems.layers import Workload


@pytest.mark.parametrize(
    ("model", "dense", "expert", "total", "active"),
    [
        # Three matrices of 768 by 2,048 for each of 128 experts, 8 of them for a token.
        ("qwen3-30b-a3b", 0, 3 * 768 * 2048, 128, 8),
        ("mixtral-8x7b", 0, 3 * 14336 * 4096, 8, 2),
        # The first layer has none; a shared one, which all tokens meet, is no such expert.
        ("glm-4.5-air", 1, 3 * 1408 * 4096, 128, 8),
    ],
)
def test_experts_by_hand(model: str, dense: int, expert: int, total: int, active: int) -> None:
    """A token reads those that it meets, many tokens all of them; they are a part of the layer."""
    for batch, read in ((1, active), (10_000, total)):
        layers = load(model).layers(Workload("decode", batch, 1024, weight_bits=8))
        assert [one.experts is None for one in layers[1 : 1 + dense]] == [True] * dense
        for one in layers[1 + dense : -1]:
            assert one.experts is not None
            assert one.expert_weights == total * expert < one.weights
            assert one.experts.weights == pytest.approx(read * expert)
            assert one.experts.flops == pytest.approx(2 * batch * active * expert)
            last = one.operations[-1]
            assert one.experts.weights < last.weights < last.moved
            assert one.experts.flops < last.flops
        assert layers[0].experts is layers[-1].experts is None


def test_dense_models_have_none() -> None:
    """All their parameters are met by each token."""
    for one in load("llama-3-8b").layers(Workload("decode", 1, 1024)):
        assert (one.experts, one.expert_weights) == (None, 0)
        # Norms are no matrices, and rows of the embedding are looked up.
        read = sum(part.weights for part in one.operations)
        assert read == pytest.approx(one.weights, rel=1e-3) or one.name.endswith("embed_tokens")
