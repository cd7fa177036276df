"""Computation graphs from programs that `torch.export.save` wrote; torch is not needed.

Such a file is a zip archive. The program in it is JSON and is read; weights, constants and sample
inputs beside it are pickles, or raw numbers, and are never opened: whoever unpickles a file runs
what its writer put there.
"""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundmark.datasets.torch_program import stored_program
from boundmark.datasets.zoo.export.graph_module import with_origins
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.json_documents import json_object

# Where the program is: since torch 2.8 in a folder of any name, before by itself.
_PROGRAM, _OLD_PROGRAM = "/models/model.json", "serialized_exported_program.json"


def load(path: Path, largest_program: int = 2**28) -> ComputationGraph:
    """Read a program; nothing in the file is run, and no weights are read.

    Parameters
    ----------
    largest_program
        Bytes of the program without weights that are inflated at most; one of 100,000 operators has
        130 MB.

    Raises
    ------
    InvalidInputError
        If the file holds no program, or the program has control flow, sizes that depend on the
        data, or writes into parts of a tensor.
    """
    with naming(path):
        return graph_of(content(path, largest_program))[0]


def content(path: Path, largest_program: int = 2**28) -> Mapping[str, Any]:
    """Return the JSON of the program in a file, unchecked.

    Raises
    ------
    InvalidInputError
        If the file holds no program, or a larger one than `load` takes.
    """
    return json_object(_program(path, largest_program))


def graph_of(content: Mapping[str, Any]) -> tuple[ComputationGraph, dict[int, str]]:
    """Return the graph of a program in JSON, and the operators that its calls are part of.

    Returns
    -------
    The graph, and names of its operators by the number of a call among those of
    `torch_regions.without_regions`; see `graph_module.with_origins`.

    Raises
    ------
    InvalidInputError
        As for `load`.
    """
    try:
        graph, origins = with_origins(stored_program(content))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        # Shapes and arguments in a file may be anything.
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            "expected operators with arguments and shapes as torch has them, found "
            f"{type(error).__name__}: {reason}"
        ) from error
    except RecursionError as error:
        raise InvalidInputError("names of operators are too much alike.") from error
    calls = ((node.meta.get("call"), name) for node, name in origins.items())
    return graph, {at: name for at, name in calls if at is not None}


def _program(path: Path, largest: int) -> bytes:
    """Return the JSON of the program in an archive."""
    if not path.exists():
        raise InvalidInputError("it does not exist; expected a file.")
    if not path.is_file():
        raise InvalidInputError("expected a regular file.")
    if not path.stat().st_size:
        raise InvalidInputError("the file is empty; expected an exported program.")
    try:
        with zipfile.ZipFile(path) as archive:
            return _content(archive, _member(archive), largest)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise InvalidInputError(
            f"expected a program of torch.export, found no complete zip archive: {error}"
        ) from error
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(f"the archive cannot be read: {error}") from error


def _member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """Return the only entry that is a program."""
    found = [
        entry
        for entry in archive.infolist()
        if entry.filename == _OLD_PROGRAM
        or (entry.filename.endswith(_PROGRAM) and entry.filename.count("/") == 2)
    ]
    if len(found) != 1:
        raise InvalidInputError(
            f"expected a program of torch.export, found {len(found)} entries named "
            f"FOLDER{_PROGRAM} or {_OLD_PROGRAM}; other files of torch are pickles, which run code "
            "when they are read, and are refused."
        )
    return found[0]


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, largest: int) -> bytes:
    """Return the content of an entry, inflated up to a limit."""
    # The other methods of compression inflate without bound.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInputError(
            f"{entry.filename} is compressed by method {entry.compress_type}; expected none or "
            "deflate."
        )
    with archive.open(entry) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise InvalidInputError(f"the program has more than {largest >> 20} MiB.")
    return content
