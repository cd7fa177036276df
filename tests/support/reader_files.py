"""Files of the formats that came after `readers`, as small as they are of any use."""

import json
import struct
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from graphs import small_graph

from boundmark.datasets.layers.language_models import published
from boundmark.datasets.readers.graph_file import GraphOrigin, to_json
from boundmark.problems.devices import measured_times
from boundmark.reports.comparison.recorded_run import read_baseline, write_baseline
from boundmark.reports.history import HISTORY, add_to_history

ROOT = Path(__file__).parents[2]

_ORIGIN = GraphOrigin("made by hand", {"batch": 2}, {"tool": "1.0"}, 7)


def sheet_bytes(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return an Excel file of the second version, which has one sheet and no styles."""
    records = [(0x0009, struct.pack("<HH", 2, 0x10))]
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            place = struct.pack("<HH3x", row, column)
            if isinstance(cell, float):
                records.append((0x0003, place + struct.pack("<d", cell)))
            elif cell:
                text = str(cell).encode()
                records.append((0x0004, place + bytes([len(text)]) + text))
    records.append((0x000A, b""))
    return b"".join(struct.pack("<HH", kind, len(body)) + body for kind, body in records)


def sheets() -> Sequence[bytes]:
    """Return a sheet by Moirai: three operators on two devices."""
    header = ["task", "c_task", "dir_succ", "p0", "p1", "pc00", "pc01", "pc10", "pc11"]
    header += ["mi", "m0", "m1"]
    first = [1.0, "2,3", "3,5", 0.5, 2.0, "0,0", "1,2.5", "3,4", "0,0", 4.0, 8.0, 9.0]
    second = [3.0, 4.0, 5.0, 1.0, 0.25, 0.0, 7.0, 7.0, 0.0, 1.0, "", ""]
    third = [5.0, "", "", 1.0, 1.0, "", "", "", "", 1.0, "", ""]
    return [sheet_bytes([header, first, second, third])]


def json_graphs() -> Sequence[bytes]:
    """Return a graph in JSON."""
    return [to_json(small_graph(), _ORIGIN).encode()]


def planners() -> Sequence[bytes]:
    """Return a graph of dnn-partitioning."""
    partitioning = {
        "maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1,
        "nodes": [
            {"id": number, "name": f"n{number}", "supportedOnFpga": 1, "cpuLatency": 4,
             "fpgaLatency": 1, "size": 30}
            for number in (7, 5)
        ],
        "edges": [{"sourceId": 7, "destId": 5, "cost": 0.5}],
    }  # fmt: skip
    return [json.dumps(partitioning).encode()]


def times() -> Sequence[bytes]:
    """Return measured times."""
    document = {
        "format": measured_times.FORMAT,
        "base": "nvidia-t4",
        "source": "measured",
        "operators": {"conv": 1200, "relu": 300},
    }
    return [json.dumps(document).encode()]


@cache
def baselines() -> Sequence[bytes]:
    """Return a part of a shipped baseline."""
    whole = read_baseline(ROOT / "benchmarks" / "baselines" / "smoke.parquet")
    return [
        _written(
            lambda path: write_baseline(
                path, whole.tasks.head(3), whole.environments, whole.reference_seconds
            )
        )
    ]


@cache
def histories() -> Sequence[bytes]:
    """Return a history of one run."""
    row: dict[str, Any] = dict.fromkeys(HISTORY.names)
    row |= {"run": "a", "started_at": pd.Timestamp("2026-11-01", tz="UTC")}
    row |= {"problem": "pipeline", "method": "fractional-load", "instances": 3, "mean_gap": 0.25}
    return [_written(lambda path: add_to_history(path, [row]))]


def thresholds() -> Sequence[bytes]:
    """Return the thresholds of nightly comparisons."""
    return [(ROOT / "benchmarks" / "baselines" / "thresholds.toml").read_bytes()]


def _written(write: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.parquet"
        write(path)
        return path.read_bytes()


SMALL_MODEL = {
    "model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 16, "vocab_size": 10, "torch_dtype": "bfloat16",
}  # fmt: skip


def configurations() -> Sequence[bytes]:
    """Return configurations of language models, of all that are shipped."""
    return [json.dumps(one["config"]).encode() for one in published().values()]


def gguf_files() -> Sequence[bytes]:
    """Return headers of two models, one with experts and a window."""
    plain = {"block_count": 1, "embedding_length": 64, "attention.head_count": 2}
    more = {"attention.sliding_window": 9, "expert_count": 4, "expert_used_count": 2}
    matrices = [("attn_q", (64, 64)), ("ffn_up", (64, 128)), ("ffn_down", (128, 64))]
    experts = [("ffn_up_exps", (64, 32, 4)), ("ffn_down_exps", (32, 64, 4))]
    return [_gguf("llama", plain, matrices), _gguf("gpt-oss", plain | more, matrices + experts)]


def _gguf(kind: str, numbers: dict[str, int], matrices: Sequence[tuple[str, Any]]) -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    entries = [text("general.architecture") + struct.pack("<I", 8) + text(kind)]
    entries += [text(f"{kind}.{k}") + struct.pack("<II", 4, v) for k, v in numbers.items()]
    tensors = [("token_embd.weight", (64, 100))]
    tensors += [(f"blk.0.{name}.weight", shape) for name, shape in matrices]
    listed = [
        text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
        for name, shape in tensors
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries))
    return head + b"".join(entries) + b"".join(listed)


def layer_tables() -> Sequence[bytes]:
    """Return a table with work, and one with measured times."""
    return [
        b"layer,weights,held,output,flops,bytes\na,100,7,10,5,9\nb,200,7,0,5,9\n",
        b"layer,seconds:A10,joined\na,.5,0\nb,.25,1\n",
    ]


def safetensors() -> Sequence[bytes]:
    """Return the header of a small model's tensors."""
    names = [
        "model.embed_tokens.weight", "lm_head.weight", "model.layers.0.self_attn.q_proj.weight",
        "model.layers.0.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weight",
    ]  # fmt: skip
    document = {
        name: {"dtype": "BF16", "shape": [8, 8], "data_offsets": [128 * at, 128 * at + 128]}
        for at, name in enumerate(names)
    }
    text = json.dumps(document).encode()
    return [struct.pack("<Q", len(text)) + text]
