"""Archives as `torch.export.save` writes them, made without torch."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FLOAT32 = 7


def tensor(*sizes: int | tuple[str, int | None], dtype: int = FLOAT32) -> dict[str, Any]:
    """Return a tensor's entry; a size may be a formula with the example's size."""
    found: list[dict[str, Any]] = []
    for size in sizes:
        if isinstance(size, int):
            found.append({"as_int": size})
        else:
            hint = None if size[1] is None else {"as_int": size[1]}
            found.append({"as_expr": {"expr_str": size[0], "hint": hint}})
    return {"dtype": dtype, "sizes": found, "layout": 7}


def ref(name: str) -> dict[str, Any]:
    """Return an argument that is a tensor."""
    return {"as_tensor": {"name": name}}


def call(
    target: str, arguments: Mapping[str, Any], *made: Any, module: str = "", **metadata: str
) -> dict[str, Any]:
    """Return a call of an operator; its results are names, or whole arguments."""
    stack = f"L__self__,,M;L__self__x,{module},torch.nn.Module" if module else "L__self__,,M"
    return {
        "target": f"torch.ops.{target}",
        "inputs": [
            {"name": name, "arg": value if isinstance(value, dict) else ref(value), "kind": 1}
            for name, value in arguments.items()
        ],
        "outputs": [one if isinstance(one, dict) else ref(one) for one in made],
        "metadata": {"nn_module_stack": stack, **metadata},
        "name": made[0] if made and isinstance(made[0], str) else None,
    }


def program(
    calls: Sequence[Mapping[str, Any]],
    tensors: Mapping[str, Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    parameters: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the JSON of a program; parameters are names in the model by placeholder."""
    weights = parameters or {}
    specs: list[dict[str, Any]] = [
        {"parameter": {"arg": {"name": name}, "parameter_name": own}}
        for name, own in weights.items()
    ]
    specs += [{"user_input": {"arg": ref(name)}} for name in inputs]
    graph = {
        "inputs": [ref(name) for name in (*weights, *inputs)],
        "outputs": [ref(name) for name in outputs],
        "nodes": list(calls),
        "tensor_values": dict(tensors),
        "sym_int_values": {},
    }
    return {
        "graph_module": {"graph": graph, "signature": {"input_specs": specs, "output_specs": []}},
        "schema_version": {"major": 8, "minor": 20},
        "torch_version": "2.13.0",
    }


def two_layers() -> dict[str, Any]:
    """Return a program of two linear layers with a ReLU in between."""
    return program(
        [
            call("aten.linear.default", {"input": "x", "weight": "w0", "bias": "b0"}, "l0",
                 module="0"),
            call("aten.relu.default", {"self": "l0"}, "r", module="1"),
            call("aten.linear.default", {"input": "r", "weight": "w2", "bias": "b2"}, "l2",
                 module="2"),
        ],
        {
            "x": tensor(3, 8), "w0": tensor(16, 8), "b0": tensor(16), "l0": tensor(3, 16),
            "r": tensor(3, 16), "w2": tensor(4, 16), "b2": tensor(4), "l2": tensor(3, 4),
        },
        ["x"],
        ["l2"],
        {"w0": "0.weight", "b0": "0.bias", "w2": "2.weight", "b2": "2.bias"},
    )  # fmt: skip


def archive(
    content: Any, others: Mapping[str, bytes] | None = None, method: int = zipfile.ZIP_STORED
) -> bytes:
    """Return an archive with a program and other entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.writestr("own/models/model.json", json.dumps(content))
        for name, entry in (others or {"own/archive_format": b"pt2"}).items():
            file.writestr(name, entry)
    return buffer.getvalue()


def write(folder: Path, content: Any, name: str = "own.pt2") -> Path:
    """Write an archive, and return the file."""
    path = folder / name
    path.write_bytes(archive(content))
    return path
