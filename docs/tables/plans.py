"""Compare published choices with the best on the same costs: `python docs/tables/plans.py`.

Each configuration that somebody has published is evaluated with the best cut of its layers, and so
is the best of the whole space; both are certified. `--save` keeps the rows in plans.csv, of which
docs/plan.md has a table.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
from page import markdown

import boundmark

STORED = Path(__file__).with_name("plans.csv")

# Configurations of models without a file of their own in `language-models`.
OWN = {
    "llama-2-13b": {"model_type": "llama", "num_hidden_layers": 40, "hidden_size": 5120,
                    "intermediate_size": 13824, "num_attention_heads": 40,
                    "num_key_value_heads": 40, "vocab_size": 32000,
                    "tie_word_embeddings": False, "torch_dtype": "bfloat16"},
    "gpt3-175b": {"model_type": "gpt2", "n_layer": 96, "n_embd": 12288, "n_head": 96,
                  "n_positions": 2048, "vocab_size": 51200},
    "gpt3-20b": {"model_type": "gpt2", "n_layer": 44, "n_embd": 6144, "n_head": 48,
                 "n_positions": 2048, "vocab_size": 51200},
    "bloom-176b": {"model_type": "bloom", "n_layer": 70, "hidden_size": 14336, "n_head": 112,
                   "vocab_size": 250880, "torch_dtype": "bfloat16"},
    "gpt-neox-20b": {"model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144,
                     "intermediate_size": 24576, "num_attention_heads": 64, "vocab_size": 50432,
                     "max_position_embeddings": 2048, "tie_word_embeddings": False,
                     "torch_dtype": "float16"},
}  # fmt: skip

TRAINING = {"goal": "training", "overlap": True, "shard_optimizer": True}


class Published(NamedTuple):
    """A published choice: model, devices, what was asked, and what its authors chose."""

    name: str
    model: str
    devices: str
    asked: dict[str, Any]
    chosen: str
    source: str


PUBLISHED = (
    Published("Llama 3 70B, training", "language-models/llama-3-70b", "8x8xH100@50",
              {**TRAINING, "sequences": 128, "context": 8192}, "t=4,p=8,d=2,b=1",
              "Megatron Bridge 25.11"),
    Published("Llama 2 70B, training", "language-models/llama-2-70b", "8x8xH100@50",
              {**TRAINING, "sequences": 128, "context": 4096}, "t=4,p=4,d=4,b=1", "NeMo 24.07"),
    Published("Llama 2 13B, training", "llama-2-13b", "2x8xH100@50",
              {**TRAINING, "sequences": 128, "context": 4096}, "t=1,p=4,d=4,b=1", "NeMo 24.07"),
    Published("GPT-3 175B, training", "gpt3-175b", "16x8xH100@50",
              {**TRAINING, "sequences": 256, "context": 2048}, "t=4,p=8,d=4,b=1", "NeMo 24.07"),
    Published("GPT-3 20B, training", "gpt3-20b", "8x8xH100@50",
              {**TRAINING, "sequences": 256, "context": 2048}, "t=2,p=1,d=32,b=2", "NeMo 24.07"),
    Published("BLOOM 176B, training", "bloom-176b", "48x8xA100-80GB@6.25",
              {**TRAINING, "sequences": 2048, "context": 2048}, "t=4,p=12,d=8,b=2", "BigScience"),
    Published("GPT-NeoX 20B, training", "gpt-neox-20b", "12x8xA100-40GB@25",
              {**TRAINING, "sequences": 1536, "context": 2048}, "t=2,p=4,d=12,b=4", "EleutherAI"),
    Published("Mixtral 8x7B, training", "language-models/mixtral-8x7b", "8x8xH100@50",
              {**TRAINING, "sequences": 256, "context": 4096}, "t=1,p=4,d=16,e=8,b=1",
              "Megatron-LM"),
    Published("Llama 3.3 70B, 4 bits, decoding", "language-models/llama-3-70b", "8xRTX-PRO-6000",
              {"context": 1500, "weight_bits": 4}, "t=1,p=8,d=1", "TensorRT-LLM 1.0"),
    Published("Llama 3.1 405B, 8 bits, decoding", "language-models/llama-3.1-405b", "8xH100",
              {"context": 1500, "weight_bits": 8, "cache_bits": 8}, "t=8,p=1,d=1",
              "TensorRT-LLM 1.0"),
    Published("DeepSeek-V3, decoding", "language-models/deepseek-v3", "8xH200",
              {"context": 1500, "cache_bits": 8}, "t=1,p=1,d=8,e=8", "TensorRT-LLM 1.x"),
    Published("70B, 16 sequences, vLLM issue 2280", "language-models/llama-2-70b", "4xA6000",
              {"sequences": 16, "context": 2048}, "t=4,p=1,d=1", "its answer"),
)  # fmt: skip


def compared(one: Published, folder: Path, seconds: float) -> dict[str, object]:
    """Return the published choice and the best one, with their rates and bounds."""
    model = one.model
    if model in OWN:
        (folder / model).mkdir(exist_ok=True)
        path = folder / model / "config.json"
        path.write_text(json.dumps(OWN[model]))
        model = str(path)
    started = time.monotonic()
    best = boundmark.plan(model, one.devices, seconds=seconds, wanted=1, quiet=True, **one.asked)
    took = time.monotonic() - started
    theirs = boundmark.plan(
        model, one.devices, seconds=seconds, wanted=1, quiet=True, fix=one.chosen, **one.asked
    )
    return {
        "model": one.name, "devices": best.question.hosts.words(), "source": one.source,
        "theirs": repr(theirs).partition(": ")[2].partition(", ")[0],
        "theirs_rate": theirs.tokens_per_second, "theirs_optimal": theirs.is_optimal,
        "best": ", ".join(repr(best).partition(": ")[2].split(", ")[:-2]),
        "best_rate": best.tokens_per_second,
        "bound_rate": None if best.bound is None else best.question.rate(best.bound),
        "configurations": len(best.found.rows), "seconds": round(took, 1),
    }  # fmt: skip


def table(rows: pd.DataFrame) -> str:
    """Return the rows as a table of Markdown."""
    head = ["model", "devices", "published", "best", ">tokens/s", ">best", ">at most faster"]
    lines = []
    for row in rows.itertuples():
        has = row.theirs_rate == row.theirs_rate and row.theirs_rate is not None
        lines.append([
            row.model, row.devices, f"{row.theirs} ({row.source})", row.best,
            f"{row.theirs_rate:,.0f}" if has else "does not fit", f"{row.best_rate:,.0f}",
            f"{row.bound_rate / row.theirs_rate - 1:.1%}" if has else "–",
        ])  # fmt: skip
    return markdown(head, lines, text_columns=4)


def main(arguments: list[str]) -> None:
    """Compare all published choices, or those whose names have a text in them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args(arguments)
    rows = []
    with TemporaryDirectory() as folder:
        for one in PUBLISHED:
            if given.name in one.name:
                rows.append(compared(one, Path(folder), given.seconds))
                print(rows[-1], file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows)
    if given.save:
        frame.to_csv(STORED, index=False)
    print(table(frame))


if __name__ == "__main__":
    main(sys.argv[1:])
