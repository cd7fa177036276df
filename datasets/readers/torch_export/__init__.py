"""Programs that `torch.export.save` wrote."""

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.method import Deferred

FORMAT = FileFormat(
    "torch.export",
    (".pt2",),
    Deferred("boundmark.datasets.readers.torch_export.file:load_with_kernels"),
)
