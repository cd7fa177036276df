"""Headers of safetensors files beside a configuration: the true bytes of a model's tensors.

The format is that of https://github.com/huggingface/safetensors: eight bytes with the length of a
JSON header, which has type, shape and place of each tensor. Nothing behind it is read.
"""

import json
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boundmark.datasets.layers.transformer import Block, Matrix, Transformer
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import LONGEST_MARK, naming, refuse_stand_in
from boundmark.problems.json_documents import json_object

INDEX = "model.safetensors.index.json"

LONGEST_HEADER = 2**28
MOST_FILES = 10_000

_LAYER = re.compile(r"(?:^|.*?\.)(?:layers|layer|h|block|blocks)\.(\d{1,6})\.(.*)")
_OF_EMBEDDING = re.compile(
    r"(^|.*\.)(embed_tokens|embed_in|wte|wpe|embed_positions|shared|.*embeddings)\b.*"
)
_OF_TOWER = re.compile(r"(^|.*\.)(vis(ion|ual)|multi_modal_projector|mm_projector|image_).*")

# Parts of a layer whose bytes are known apart.
_EXPERTS, _NETWORK, _PROJECTIONS, _VECTORS = "experts", "network", "projections", "vectors"


def with_stored_sizes(model: Transformer, folder: Path) -> Transformer:
    """Return the model with the bytes that the folder's files have, if it has any.

    Raises
    ------
    InvalidInputError
        If a file is no safetensors file, or tensors of a layer are missing.
    """
    files, missing = _files(folder)
    if missing and files:
        raise InvalidInputError(
            f"{INDEX} lists {', '.join(missing[:3])}, which {'is' if len(missing) == 1 else 'are'} "
            "not there; expected all files of the model, or none."
        )
    if not files:
        return model
    sizes: dict[int, Counter[str]] = {at: Counter() for at in range(len(model.blocks))}
    first = tower = last = 0
    for path in files:
        with naming(path):
            for name, (shape, size) in _header(path).items():
                match = None if _OF_TOWER.fullmatch(name) else _LAYER.fullmatch(name)
                if match is not None:
                    if int(match[1]) in sizes:
                        sizes[int(match[1])][_part(match[2], shape)] += size
                elif _OF_TOWER.fullmatch(name):
                    tower += size
                elif _OF_EMBEDDING.fullmatch(name):
                    first += size
                else:
                    last += size
    for at, found in sizes.items():
        if not found:
            raise InvalidInputError(
                f"the files have no tensor of layer {at}; expected tensors of all "
                f"{len(model.blocks)} layers, in files that {INDEX} lists."
            )
    blocks = tuple(_with_sizes(block, sizes[at]) for at, block in enumerate(model.blocks))
    if model.is_tied and last < model.last.multiplied:
        last += first
    return replace(
        model,
        blocks=blocks,
        first=replace(model.first, size=first + tower),
        last=replace(model.last, size=last),
        notes=(*model.notes, f"bytes of weights are those of {len(files)} safetensors files"),
    )


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a folder's model, and those that are listed and not there."""
    index = folder / INDEX
    if not index.is_file():
        return sorted(folder.glob("*.safetensors"))[:MOST_FILES], []
    with naming(index):
        listed = json_object(index.read_bytes()).get("weight_map")
        if not isinstance(listed, dict) or not all(isinstance(one, str) for one in listed.values()):
            raise InvalidInputError("weight_map is no object of texts; expected a file by tensor.")
        names = sorted(set(listed.values()))
        if any(Path(name).name != name for name in names):
            raise InvalidInputError("weight_map names files elsewhere; expected files beside it.")
    found = [folder / name for name in names if (folder / name).is_file()]
    return found, [name for name in names if not (folder / name).is_file()]


def _header(path: Path) -> Mapping[str, tuple[int, int]]:
    """Return the number of dimensions and the bytes of each tensor."""
    with path.open("rb") as file:
        mark = file.read(LONGEST_MARK)
        refuse_stand_in(mark)
        start = mark[:8]
        file.seek(len(start))
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= LONGEST_HEADER:
            raise InvalidInputError(
                f"its header has {length:,} bytes; expected a safetensors file, with 2 to 2^28."
            )
        text = file.read(length)
    if len(text) != length:
        raise InvalidInputError("it ends within its header; expected a whole file.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("its header is no JSON; expected a safetensors file.") from error
    if not isinstance(document, dict):
        raise InvalidInputError("its header is no object; expected a safetensors file.")
    return {name: _tensor(name, one) for name, one in document.items() if name != "__metadata__"}


def _tensor(name: str, document: Any) -> tuple[int, int]:
    shape = document.get("shape") if isinstance(document, dict) else None
    places = document.get("data_offsets") if isinstance(document, dict) else None
    is_pair = isinstance(places, list) and len(places) == 2
    if (
        not isinstance(shape, list)
        or not isinstance(places, list)
        or not is_pair
        or not all(type(one) is int and 0 <= one < 2**60 for one in places)
        or places[1] < places[0]
    ):
        raise InvalidInputError(
            f"tensor {quoted(name)} is {quoted(document)}; expected shape and data_offsets."
        )
    return len(shape), places[1] - places[0]


def _part(name: str, dimensions: int) -> str:
    if ".experts." in f".{name}":
        return _EXPERTS
    if dimensions < 2:
        return _VECTORS
    is_network = name.startswith(
        ("mlp.", "feed_forward.", "block_sparse_moe.", "fc", "intermediate")
    )
    return _NETWORK if is_network else _PROJECTIONS


def _with_sizes(block: Block, sizes: Counter[str]) -> Block:
    """Return a block whose parts have these bytes, divided in proportion to what was expected."""
    experts = [one for one in block.network if one.copies > 1]
    others = [one for one in block.network if one.copies == 1]
    scaled = {
        id(one): _scaled(one, part, sizes[name])
        for name, part in (
            (_EXPERTS, experts), (_NETWORK, others), (_PROJECTIONS, block.projections),
        )
        for one in part
    }  # fmt: skip
    # What belongs to a part that the configuration does not have is kept all the same.
    rest = sizes[_VECTORS] + sum(
        sizes[name]
        for name, part in (
            (_EXPERTS, experts),
            (_NETWORK, others),
            (_PROJECTIONS, block.projections),
        )
        if not part
    )
    return replace(
        block,
        projections=tuple(scaled[id(one)] for one in block.projections),
        network=tuple(scaled[id(one)] for one in block.network),
        vector_size=rest,
    )


def _scaled(matrix: Matrix, part: "list[Matrix] | tuple[Matrix, ...]", size: int) -> Matrix:
    total = sum(one.size for one in part)
    before = sum(one.size for one in part[: part.index(matrix)])
    # Differences of rounded sums add up to the whole.
    share = size * (before + matrix.size) // total - size * before // total
    return replace(matrix, size=share)
