"""Layouts of models as [TESSEL24] places them."""

import pytest

from boundmark.datasets.microbatch import models
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.microbatch import MicrobatchInstance

# What does not fit into the paper's GPUs, as whole layers: its figures have crosses for Chimera.
TOO_LARGE = {
    *(f"gpt-x-{gpus}-train" for gpus in (4, 8, 16, 32)),
    *(f"mt5-x-{gpus}-train" for gpus in (8, 16, 32)),
    "mt5-nn-32-train",
}


@pytest.mark.parametrize("member", models.members())
def test_members_load_or_do_not_fit(member: str) -> None:
    """A layout leaves room for its blocks beside the weights; others say that they do not fit."""
    if member in TOO_LARGE:
        with pytest.raises(InvalidInputError, match=r"fit|expected one for an X-shape"):
            models.load(member)
        return
    layout = models.load(member)
    instance = MicrobatchInstance.of(layout)
    rooms = zip(instance.capacity, layout.held, strict=True)
    assert {room + held for room, held in rooms} == {32 * 1024}
    assert MicrobatchInstance.from_json(instance.to_json()).sha256 == instance.sha256


@pytest.mark.parametrize(
    ("member", "billions"),
    [("gpt-m-4-train", 11), ("gpt-m-8-train", 24), ("gpt-m-16-train", 47), ("gpt-m-32-train", 77),
     ("mt5-nn-8-train", 9.5), ("mt5-nn-16-train", 43)],
)  # fmt: skip
def test_weights_are_those_of_table_3(member: str, billions: float) -> None:
    """What GPUs hold for good is the published number of weights, 10 bytes each.

    The table's first mT5 has 1.8 billion; its layers and one table of words make 1.2.
    """
    held = sum(models.load(member).held) * models.MEBIBYTE
    assert held / 10 / 1e9 == pytest.approx(billions, rel=0.05)


def test_m_and_nn_have_blocks_on_all_devices() -> None:
    """Words are looked up by all GPUs together, for mT5 again before its decoder (Figure 8)."""
    everywhere = (0, 1, 2, 3)
    shared = {
        member: [b.name for b in models.load(member).blocks if b.devices == everywhere]
        for member in ("gpt-m-4-train", "mt5-nn-4-train", "flava-k-4-infer")
    }
    assert shared == {
        "gpt-m-4-train": ["FE", "BE"],
        "mt5-nn-4-train": ["FE", "FD", "BD", "BE"],
        "flava-k-4-infer": ["FS"],
    }


def test_pipers_stages_are_as_quick_as_any() -> None:
    """They may be those of V and of tensor parallelism, whose GPUs they have."""
    for gpus in (4, 8, 16):
        loads = {
            shape: max(models.load(f"gpt-{shape}-{gpus}-train").loads)
            for shape in ("piper", "v", "tp")
        }
        assert loads["piper"] <= min(loads.values())


def test_samples_make_blocks_longer() -> None:
    """Eight samples take up to eight times as long, and less where launches count."""
    one, eight = (models.load(f"flava-k-4-infer{suffix}") for suffix in ("", "-s8"))
    assert max(one.loads) < max(eight.loads) < 8 * max(one.loads)


@pytest.mark.parametrize(
    "member", ["gpt-m-5-train", "gpt-k-4-train", "flava-k-4-train", "m-4", "gpt-m-4-train-s0"]
)
def test_unknown_layouts(member: str) -> None:
    """The error says how names are made."""
    with pytest.raises(UnknownNameError, match="expected MODEL-SHAPE-GPUS-MODE"):
        models.load(member)


def test_weights_that_do_not_fit_are_refused() -> None:
    """Memory that is given counts before what is held."""
    with pytest.raises(InvalidInputError, match="weights on device 0 take"):
        MicrobatchInstance.of(models.load("gpt-m-4-train"), memory=1000)


def test_transfers_follow_samples_and_networks() -> None:
    """Twice the samples take twice as long up to a tick, and so do slower links."""
    once, twice = (models.transfer_ticks(f"gpt-m-4-train{size}") for size in ("", "-s2"))
    assert 2 * once - 1 <= twice <= 2 * once
    assert models.transfer_ticks("gpt-m-16-train") > 10 * once
