"""Layers split over devices, beside what one of these devices does, by hand."""

from typing import NamedTuple

import pytest

from boundmark.datasets.layers.gguf_file import Stored, _Reader
from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.language_models import load, published
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayerModel, LayersInstance, Workload
from boundmark.problems.layers.costs import chain_of
from boundmark.problems.layers.fleet import read_fleet

CONTEXT = 1024


class Dense(NamedTuple):
    """Dimensions of a block with separate keys and values, in 16 bits."""

    width: int
    heads: int
    shared: int
    head: int
    inner: int

    def weights(self, group: int) -> float:
        """Return the parameters that a device has, of matrices."""
        own = max(1, self.shared / group)
        queries = 2 * self.width * self.heads * self.head / group
        network = 3 * self.width * self.inner / group
        return queries + 2 * self.width * own * self.head + network

    def operations(self, group: int, batch: int, phase: str) -> list[tuple[float, float]]:
        """Return a device's arithmetic and bytes: projections, attention, network."""
        tokens = batch if phase == "decode" else batch * CONTEXT
        pairs = batch * CONTEXT * (1.0 if phase == "decode" else (CONTEXT + 1) / 2)
        own = max(1, self.shared / group)
        queries, inner = self.heads * self.head / group, self.inner / group
        around = 2 * self.width * (queries + own * self.head)
        network = 3 * self.width * inner
        return [
            (2 * tokens * around,
             2 * around + 4 * tokens * (self.width + queries + 2 * own * self.head)),
            (4 * pairs * queries, 2 * batch * CONTEXT * 2 * own * self.head + 4 * tokens * queries),
            (2 * tokens * network, 2 * network + 4 * tokens * (self.width + inner)),
        ]  # fmt: skip


LLAMA_70B = Dense(8192, 64, 8, 128, 28672)
MULTI_QUERY = Dense(1024, 16, 1, 64, 4096)


def model_of(block: Dense) -> LayerModel:
    """Return a model with two such blocks."""
    return transformer(
        {"model_type": "llama", "hidden_size": block.width, "num_attention_heads": block.heads,
         "num_key_value_heads": block.shared, "head_dim": block.head, "num_hidden_layers": 2,
         "intermediate_size": block.inner, "vocab_size": 128256, "torch_dtype": "bfloat16"}
    )  # fmt: skip


def ticks(operations: list[tuple[float, float]], sent: float, group: int) -> int:
    """Return the nanoseconds of operations on an H100, and of all-reduces in a ring."""
    fleet = read_fleet("2xH100", 2)
    device, link = fleet.kinds[0], fleet.inner[0]
    assert link is not None
    rate, bandwidth = device.rate("bfloat16"), device.memory_bandwidth
    computing = sum(max(a / rate, b / bandwidth) + device.op_overhead for a, b in operations)
    reducing = 2 * (group - 1) / group * sent / link.bandwidth
    return round(1e9 * (computing + reducing))


@pytest.mark.parametrize("phase", ["decode", "prefill", "training"])
@pytest.mark.parametrize(
    ("block", "group"),
    [*((LLAMA_70B, group) for group in (1, 2, 8, 16, 64)),
     *((MULTI_QUERY, group) for group in (1, 2, 16))],
)  # fmt: skip
def test_a_block_by_hand(block: Dense, group: int, phase: str) -> None:
    """A device has the heads of keys that it needs, whole ones, and tokens at full width."""
    model, batch = model_of(block), 3
    passes, ways, parameter = (3, 2, 16) if phase == "training" else (1, 1, 2)
    found = model.layers(Workload(phase, batch, CONTEXT, tensor_parallel=group))[1]
    expected = [(passes * a, passes * b) for a, b in block.operations(group, batch, phase)]
    for one, (flops, moved) in zip(found.operations, expected, strict=True):
        assert one.flops / group == pytest.approx(flops, rel=1e-12)
        assert one.moved / group == pytest.approx(moved, rel=1e-12)
    norms = 2 * block.width / group
    assert found.weights / group == pytest.approx(parameter * (block.weights(group) + norms))
    if phase != "training":
        heads = max(1, block.shared / group)
        assert found.held / group == batch * CONTEXT * heads * 2 * block.head * 2
    fleet = read_fleet(f"{group}xH100", group)
    chain = chain_of(model, Workload(phase, batch, CONTEXT), fleet, 90)
    tokens = batch if phase == "decode" else batch * CONTEXT
    sent = 2 * ways * tokens * block.width * 2
    assert int(chain.time[0, 1]) == ticks(expected, sent, group)


def test_attention_to_an_encoder() -> None:
    """A decoder's layer of T5 has three all-reduces, and the tokens thrice at full width."""
    model = transformer(
        {"model_type": "t5", "d_model": 512, "num_heads": 8, "d_kv": 64, "d_ff": 2048,
         "num_layers": 1, "vocab_size": 32128, "torch_dtype": "float16"}
    )  # fmt: skip
    found = model.layers(Workload("decode", 3, CONTEXT, tensor_parallel=4))[2]
    assert (found.reductions, found.reduced) == (3, 3 * 3 * 2 * 512)
    lanes = 2 * (3 * 512 / 4 + 512)
    assert found.operations[0].moved / 4 == 2 * 8 * 512 * 512 / 4 + 4 * 3 * lanes
    assert found.operations[2].moved / 4 == 2 * 2 * 512 * 2048 / 4 + 4 * 3 * (512 + 2048 / 4)


@pytest.mark.parametrize("group", [1, 4, 16])
def test_both_ends_by_hand(group: int) -> None:
    """A row is read where it is, all write all of them; words, and a normalisation, are split."""
    tokens, width, words = 3, 8192, 128256
    first, *_, last = model_of(LLAMA_70B).layers(
        Workload("decode", tokens, CONTEXT, tensor_parallel=group)
    )
    through = 2 * tokens * width
    assert first.operations[0].moved / group == pytest.approx(through / group + through)
    assert last.operations[0].flops / group == pytest.approx(2 * tokens * width * words / group)
    assert last.operations[0].moved / group == pytest.approx(
        2 * width * (words + 1) / group + through
    )


@pytest.mark.parametrize("phase", ["decode", "prefill", "training"])
@pytest.mark.parametrize("group", [1, 2, 8, 128])
def test_latent_attention_and_experts_by_hand(group: int, phase: str) -> None:
    """DeepSeek-V3, a byte for each parameter: projections to the latent space are on all."""
    batch, width, heads = 2, 7168, 128 / group
    tokens = batch if phase == "decode" else batch * CONTEXT
    whole = width * 1536 + width * (512 + 64)
    split = heads * (1536 * 192 + 512 * 256 + 128 * width)
    inner, router = 2048 / group, width * 256
    met = 1 - (1 - 8 / 256) ** tokens
    pairs = batch * CONTEXT * (1.0 if phase == "decode" else (CONTEXT + 1) / 2)
    deep = 512 + 64 if phase == "decode" else 192
    passes, read = (3, 2) if phase == "training" else (1, 1)
    lanes = 1536 + heads * 192 + 576 + heads * 256 + width
    expected = [
        (2 * tokens * (whole + split), read * (whole + split) + 4 * tokens * lanes),
        (4 * pairs * heads * deep, 2 * batch * CONTEXT * 576 + 4 * tokens * heads * 192),
        (2 * tokens * (router + 9 * 3 * width * inner),
         read * (router + (256 * met + 1) * 3 * width * inner) + 4 * tokens * (width + 9 * inner)),
    ]  # fmt: skip
    found = load("deepseek-v3").layers(
        Workload(phase, batch, CONTEXT, weight_bits=8, tensor_parallel=group)
    )[5]
    for one, (flops, moved) in zip(found.operations, expected, strict=True):
        assert one.flops / group == pytest.approx(passes * flops, rel=1e-12)
        assert one.moved / group == pytest.approx(passes * moved, rel=1e-12)
    norms = (2 * width + 1536 + 512) / group
    kept = (16 if phase == "training" else 1) * (
        whole + split + router + 257 * 3 * width * inner + norms
    )
    assert found.weights / group == pytest.approx(kept, rel=1e-9)
    if phase != "training":
        assert found.held / group == batch * CONTEXT * 576 * 2


def test_a_cache_that_all_devices_read() -> None:
    """1.21 GB for each layer at 4.8 TB/s, 252 us; 31 layers and the rest of them take 16 ms."""
    found = PROBLEM.maker(load("deepseek-v3"))(
        {"devices": "2x8xH200", "phase": "decode", "batch": 64, "context": 16384}
    )
    assert isinstance(found, LayersInstance)
    facts = load("deepseek-v3").layers(Workload("decode", 64, 16384, tensor_parallel=8))
    assert 64 * 16384 * 576 * 2 == 1_207_959_552
    assert facts[5].operations[1].moved / 8 == pytest.approx(1_207_959_552, rel=0.002)
    before = found.chain.time[0].cumsum()
    best = min(max(int(one), int(before[-1] - one)) for one in before)
    assert 31 * 252_000 < 15_900_000 < best < 16_400_000


@pytest.mark.parametrize("name", published())
def test_groups_do_no_less_than_one_device(name: str) -> None:
    """All together no less than one alone, and more if they are more; each of them no more."""
    model = load(name)
    for phase in ("decode", "prefill", "training"):
        try:
            known = model.layers(Workload(phase, 4, CONTEXT))
        except InvalidInputError:
            # One that generates no tokens.
            continue
        last, size = known, 1
        for group in (2, 5, 8, 16, 64):
            try:
                found = model.layers(Workload(phase, 4, CONTEXT, tensor_parallel=group))
            except InvalidInputError:
                continue
            for alone, fewer, more in zip(known, last, found, strict=True):
                assert fewer.weights <= more.weights <= group * alone.weights
                assert fewer.held <= more.held <= group * alone.held
                assert more.weights * size <= fewer.weights * group
                assert len(alone.operations) == len(more.operations)
                for one, a, b in zip(
                    alone.operations, fewer.operations, more.operations, strict=True
                ):
                    for least, now, most in zip(a, b, one, strict=True):
                        assert least <= now * (1 + 1e-12)
                        assert now <= group * most * (1 + 1e-12)
                        assert now * size <= least * group * (1 + 1e-12)
            last, size = found, group


def test_groups_of_several_sizes() -> None:
    """Allowed where caches take as much in all; parameters count as in the largest groups."""
    llama, latent = load("llama-3-70b"), load("deepseek-v3")
    for model, devices, phase in (
        (llama, "1x16xH100,4x8xH100", "training"), (llama, "1x8xH100,4xH100", "decode"),
        (latent, "12x16xH200,8x8xH200", "training"),
    ):  # fmt: skip
        fleet = read_fleet(devices)
        given = Workload(phase, 1, 512)
        chain = chain_of(model, given, fleet, 90)
        for row, degree in zip(chain.time, fleet.degrees, strict=True):
            alike = read_fleet(f"64x{degree}x{fleet.kinds[0].name}")
            alone = chain_of(model, given, alike, 90)
            assert row.tolist() == alone.time[0].tolist()
            assert (chain.weights >= alone.weights).all()
            assert (chain.held == alone.held).all()
    # Keys and values of Llama's 8 heads: 2 x 8192 x 1024 of 855.7 million parameters, twice.
    (note,) = chain_of(
        llama, Workload("training", 1, 512), read_fleet("1x16xH100,4x8xH100"), 90
    ).origin.notes
    share = 80 * 2 * 8192 * 1024 / 70_553_706_496
    assert note == (
        f"parameters take {share:.2%} more memory in groups of 16 than with 8, and count for all "
        "as in the larger groups"
    )
    for model, devices in ((llama, "1x16xH100,2x8xH100"), (latent, "16x8xH200,1x16xH200")):
        with pytest.raises(InvalidInputError, match="have to keep keys and values of layer"):
            chain_of(model, Workload("decode", 1, 512), read_fleet(devices), 90)


def test_matrices_of_gguf_files() -> None:
    """Queries are split, keys and values as far as there are heads, routers not."""
    facts = {
        "general.architecture": "phi3", "phi3.embedding_length": 512, "phi3.block_count": 1,
        "phi3.attention.head_count": 8, "phi3.attention.head_count_kv": 2,
        "phi3.expert_count": 4, "phi3.expert_used_count": 2,
    }  # fmt: skip
    tensors = {
        "token_embd.weight": Stored((512, 100), 102_400),
        "blk.0.attn_qkv.weight": Stored((512, 768), 768 * 512 * 2),
        "blk.0.attn_output.weight": Stored((512, 512), 512 * 512 * 2),
        "blk.0.ffn_gate_inp.weight": Stored((512, 4), 8192),
        "blk.0.ffn_up_exps.weight": Stored((512, 256, 4), 4 * 512 * 256 * 2),
        "blk.0.ffn_down_exps.weight": Stored((256, 512, 4), 4 * 512 * 256 * 2),
    }
    (block,) = _Reader(facts, tensors).model().blocks
    parts = {(one.name, one.outputs): one.parts for one in block.matrices}
    assert parts == {
        ("attn_qkv", 512): 0, ("attn_qkv", 256): 2, ("attn_output", 512): 0, ("ffn_gate_inp", 4): 1,
        ("ffn_up_exps", 256): 0, ("ffn_down_exps", 512): 0,
    }  # fmt: skip
    assert block.size == sum(one.size for name, one in tensors.items() if "blk" in name)
    assert block.kept(8)[1] - block.size == 3 * 256 * 512 * 2 + 7 * 8192
