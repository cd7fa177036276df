"""Computation graphs from programs that `torch.export.save` wrote, with the exporter of the zoo."""

from pathlib import Path

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.source_file import naming, read_bytes


def load(path: Path) -> ComputationGraph:
    """Read a program; needs torch, and its weights are read along with it.

    Like other files of torch, one may run code of whoever wrote it: read only your own.

    Raises
    ------
    InvalidInputError
        If torch is not installed, the file holds no program, or the program has an operator that
        `zoo.export.aten` does not know.
    """
    read_bytes(path, "an exported program")
    with naming(path):
        try:
            import torch

            from boundmark.datasets.zoo.export.graph_module import functional, to_graph
        except ImportError as error:
            raise InvalidInputError(
                "torch is not installed; expected boundmark[zoo], which has it."
            ) from error
        try:
            program = functional(torch.export.load(path))
        except Exception as error:
            # torch raises whatever damaged bytes lead to.
            reason = " ".join(str(error).split())[:200]
            raise InvalidInputError(f"expected a program of torch.export, found: {reason}") from (
                error
            )
        return to_graph(program)


FORMAT = FileFormat("torch.export", (".pt2",), load)
