"""JSON files of other planners, told apart by their fields."""

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.measured import dnn_partitioning, piper, placeto

FORMATS = (
    FileFormat("dnn-partitioning", (".json",), dnn_partitioning.load, dnn_partitioning.is_one),
    FileFormat("Piper", (".json",), piper.load, piper.is_one),
    FileFormat("Placeto", (".json",), placeto.load, placeto.is_one),
)
