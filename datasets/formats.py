"""The file formats of this package that serve several problems.

A reader that takes a while to import, such as that of ONNX files, is imported with the first file.
"""

from boundmark.datasets import graph_json, planners
from boundmark.datasets.file_format import FileFormat
from boundmark.problems.method import Deferred

_load_onnx = Deferred("boundmark.datasets.kernel_recognition:load_onnx")
_load_program = Deferred("boundmark.datasets.kernel_recognition:load_program")

FORMATS = (
    FileFormat("Parquet graph", (".parquet",), Deferred("boundmark.datasets.graph_file:load")),
    FileFormat("JSON graph", (".json",), graph_json.load, graph_json.is_one),
    FileFormat("ONNX", (".onnx",), _load_onnx, load_with_dims=_load_onnx),
    FileFormat("OpenVINO IR", (".xml",), Deferred("boundmark.datasets.openvino_file:load")),
    FileFormat("torch.export", (".pt2",), _load_program),
    FileFormat(
        "dnn-partitioning",
        (".json",),
        planners.load_dnn_partitioning,
        planners.is_dnn_partitioning,
    ),
    FileFormat("Piper", (".json",), planners.load_piper, planners.is_piper),
    FileFormat("Placeto", (".json",), planners.load_placeto, planners.is_placeto),
)
