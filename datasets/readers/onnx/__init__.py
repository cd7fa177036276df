"""ONNX files; the package onnx is imported with the first of them."""

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.method import Deferred

_load = Deferred("boundmark.datasets.readers.onnx.file:load_with_kernels")

FORMAT = FileFormat("ONNX", (".onnx",), _load, load_with_dims=_load)
