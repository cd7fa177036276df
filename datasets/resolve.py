"""Load what a user names: a file of any format, or a member of a data set."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from boundmark.datasets.file_format import NO_DIMS, FileFormat, UnknownDimensionError, formats
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.errors import (
    BoundmarkError,
    InvalidInputError,
    MissingFileError,
    UnknownNameError,
    find,
    quoted,
)
from boundmark.problems.files import naming, read_bytes, refuse_file_of_tool
from boundmark.problems.json_documents import json_object
from boundmark.problems.labels import labels_path, read_labels
from boundmark.problems.problem import Instance, Problem


def load_member(name: str) -> Any:
    """Load the member of a data set by a name such as ``"onnx-light/resnet50"``."""
    dataset, separator, member = name.partition("/")
    if not member and dataset in datasets():
        raise UnknownNameError(
            f"{dataset!r} is a data set; expected one of its graphs, which "
            f"`boundmark datasets --members {dataset}` lists."
        )
    if not separator:
        meant = " or ".join(_full_names(name))
        hint = f"did you mean {meant}" if meant else "expected DATASET/GRAPH, e.g. zoo/bert-base"
        raise UnknownNameError(f"there is no graph {quoted(name)}; {hint}.")
    try:
        chosen = find("data set", dataset, datasets())
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{error} If {quoted(name)} is a model on a hub, save its config.json (or its folder, "
            "with the safetensors files) and give the path; nothing is downloaded here."
        ) from error
    try:
        loaded = chosen.load(member)
    except BoundmarkError:
        raise
    except Exception as error:
        # A data set may be another package's code.
        raise InvalidInputError(
            f"data set {dataset!r} does not load {member!r:.80}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(loaded, chosen.source):
        raise InvalidInputError(
            f"{name} is a {type(loaded).__name__}; "
            f"expected a {chosen.source.__name__}, as its data set declares."
        )
    return loaded


def _full_names(member: str) -> list[str]:
    """Return the full names of all members with this name."""
    found = []
    for name, dataset in datasets().items():
        # It may be another package's code, and this is a hint only.
        with suppress(Exception):
            found += [f"{name}/{member}"] if member in dataset.members() else []
    return found


def load_source(source: str, dims: Mapping[str, int] = NO_DIMS) -> Any:
    """Load a file, or else the member of a data set with this name.

    Examples
    --------
    >>> graph = load_source("onnx-light/squeezenet")
    >>> len(graph.operators), graph.dag.edges
    (66, 73)
    """
    path = Path(source)
    # Formats take a while to import, which members without a dot need not wait for. Unlike
    # `Path.exists`, `os.path.exists` takes any text.
    if os.path.exists(source) or (path.suffix and path.suffix.lower() in known_suffixes()):
        return load_file(path, dims)
    refuse_dims(source, dims)
    return load_member(source)


# A folder may be given by mistake for a file that ends so.
MODEL_SUFFIXES = (".onnx", ".pt2", ".gguf")

# What a folder with a language model has.
FOLDER_FILE = "config.json"


def known_suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats that can be read."""
    return tuple(sorted({suffix for one in formats().values() for suffix in one.suffixes}))


def load_file(path: str | Path, dims: Mapping[str, int] = NO_DIMS) -> Any:
    """Read a file of any registered format, a language model's folder, or a stored instance."""
    path = Path(path)
    if (path / FOLDER_FILE).exists():
        path = path / FOLDER_FILE
    with naming(path):
        return _loaded(path, dims)


def _loaded(path: Path, dims: Mapping[str, int]) -> Any:
    suffix = path.suffix.lower()
    candidates = [one for one in formats().values() if suffix in one.suffixes]
    if path.is_file() and (suffix in _OF_TOOLS or not candidates):
        refuse_file_of_tool(path, "a model")
    if not candidates and path.is_dir():
        raise InvalidInputError(_other_folder(path))
    if not candidates:
        what, expected = _OTHER_SUFFIXES.get(suffix, ("", ""))
        is_what = f", {what}" if what else ""
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}{is_what}; "
            f"expected {expected or 'one of ' + ', '.join(known_suffixes())}."
        )
    chosen = _of_content(path, candidates)
    if chosen.load_with_dims is not None and dims:
        return chosen.load_with_dims(path, dims)
    refuse_dims(str(path), dims)
    return chosen.load(path)


_EXPORT = "the model as .pt2, which torch.export.save writes, or as .onnx"
_CONVERT = "the model as .onnx, to which tf2onnx converts it"

_MEASURE = "a model, whose operators `boundmark profile` times on that machine"

# What other suffixes mean, and what can be read instead.
_OTHER_SUFFIXES = {
    ".bin": ("weights of PyTorch, often a pickle", _EXPORT),
    ".ckpt": ("weights of PyTorch, often a pickle", _EXPORT),
    ".engine": ("compiled by TensorRT", "the model as .onnx"),
    ".h5": ("a model of Keras", _CONVERT),
    ".keras": ("a model of Keras", _CONVERT),
    ".mlmodel": ("a model of Core ML", "the model as .onnx or .pt2"),
    ".mlpackage": ("a model of Core ML", "the model as .onnx or .pt2"),
    ".ncu-rep": ("a report of Nsight Compute", _MEASURE),
    ".nsys-rep": ("a report of Nsight Systems", _MEASURE),
    ".ort": ("onnxruntime's own form", "the .onnx file that it was made from"),
    ".pb": ("a model of TensorFlow", _CONVERT),
    ".plan": ("compiled by TensorRT", "the model as .onnx"),
    ".pt": ("weights of PyTorch, often a pickle", _EXPORT),
    ".pte": ("a program of ExecuTorch", _EXPORT),
    ".pth": ("weights of PyTorch, often a pickle", _EXPORT),
    ".qdrep": ("a report of Nsight Systems", _MEASURE),
    ".safetensors": ("weights only", "the folder with its config.json, or a .onnx or .pt2 file"),
    ".tflite": ("a model of TensorFlow Lite", _CONVERT),
    ".xlsx": ("a spreadsheet of today's Excel", "a sheet of Moirai as .xls, or a table as .csv"),
}

_ADAPTER = ("an adapter (LoRA)", "the folder of its base model")
_OF_META = ("weights in Meta's or Mistral's form", "the config.json of the same model")

# Files that tell what another folder is, and what can be read instead.
_OTHER_FOLDERS = {
    "adapter_config.json": _ADAPTER,
    "model_index.json": ("several models of diffusers", "one of them as .onnx or .pt2"),
    "params.json": _OF_META,
    "saved_model.pb": ("a model of TensorFlow", _CONVERT),
}

# A field that tells what an object of another program is, and what can be read instead.
_OTHER_OBJECTS = {
    "_class_name": ("the configuration of a model of diffusers", "the model as .onnx or .pt2"),
    "peft_type": _ADAPTER,
    "n_layers": _OF_META,
}


def _other_folder(path: Path) -> str:
    """Say what a folder without a language model is, and what was expected."""
    for name, (what, expected) in _OTHER_FOLDERS.items():
        if (path / name).is_file():
            return f"{path} has {name}: {what}; expected {expected}."
    inside = sorted(one.name for one in path.iterdir() if one.suffix in MODEL_SUFFIXES)
    if inside:
        return f"{path} is a directory; expected a file in it, such as {inside[0]}."
    return f"{path} is a directory; expected a file, or a folder with {FOLDER_FILE}."


# Profiling tools write files that end so.
_OF_TOOLS = (".json", ".csv", ".txt")


def refuse_dims(source: str, dims: Mapping[str, int]) -> None:
    """Refuse sizes of dimensions for a source without open dimensions."""
    if dims:
        raise UnknownDimensionError(
            f"{source} has no open dimensions, but sizes are given for {', '.join(dims)}; "
            "expected none."
        )


def _of_content(path: Path, candidates: list[FileFormat]) -> FileFormat:
    if len(candidates) == 1:
        return candidates[0]
    content = read_bytes(path)
    for one in candidates:
        if one.recognises is not None and one.recognises(content):
            return one
    for one in candidates:
        if one.recognises is None:
            return one
    names = " or ".join(one.name for one in candidates)
    raise InvalidInputError(f"{path} is not recognised; expected {names}.")


def _load_instance(path: Path) -> Instance:
    content = read_bytes(path)
    with naming(path):
        value = json_object(content)
        name = value.get("problem")
        if name is None:
            raise InvalidInputError(_other_json(value))
        if not isinstance(name, str) or name not in problems():
            raise InvalidInputError(f"problem is {name!r}; expected {' or '.join(problems())}.")
        return _labelled(path, problems()[name], problems()[name].instance_from_json(value))


def _other_json(value: Mapping[str, Any]) -> str:
    """Say what an object is that no format has recognised, and what was expected."""
    for field, (what, expected) in _OTHER_OBJECTS.items():
        if field in value:
            return f"it is {what}; expected {expected}."
    names = ", ".join(list(map(quoted, value))[:MOST_FIELDS])
    return (
        f"it is JSON of no known format, with the fields {names or 'none'}; expected a graph, an "
        "instance, or a language model's config.json with model_type."
    )


# In an error.
MOST_FIELDS = 5


def _labelled(path: Path, problem: Problem, instance: Instance) -> Instance:
    """Give an instance the names that a results folder keeps beside it, if there are any."""
    labels = labels_path(path, instance.sha256)
    if problem.naming is None or not labels.is_file():
        return instance
    found = read_labels(
        labels, problem=problem.name, instance_sha256=instance.sha256, nodes=instance.nodes
    )
    named: Instance = problem.naming.rename(instance, found.names, found.tick)
    return named


# What no other reader of JSON recognises.
FORMAT = FileFormat("instance", (".json",), _load_instance)

VARIABLE = "BOUNDMARK_DATA"


def published_file(collection: str, name: str) -> Path:
    """Return the path of a file in the folder that the environment variable names."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise MissingFileError(
            f"{collection}/{name} does not come with boundmark; expected {VARIABLE} to name the "
            "folder that it is in."
        )
    path = Path(folder) / collection / name
    if not path.is_file():
        raise MissingFileError(
            f"{path} does not exist; expected {VARIABLE} to name a folder with {collection}/{name}."
        )
    return path
