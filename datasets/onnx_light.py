"""`onnx-light`: nine published image classifiers, without their weights.

The onnx package carries these models as test data. Their weights are constants of the right shape
(ConstantOfShape), which makes the files small and leaves operators, shapes and edges as published.
"""

from collections.abc import Mapping
from importlib.resources import as_file, files

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import find

FILES: Mapping[str, str] = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "zfnet512": "light_zfnet512.onnx",
    "vgg19": "light_vgg19.onnx",
    "inception-v1": "light_inception_v1.onnx",
    "inception-v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "densenet121": "light_densenet121.onnx",
    "shufflenet": "light_shufflenet.onnx",
}


def load(member: str) -> ComputationGraph:
    """Read a model from the installed onnx package.

    Raises
    ------
    UnknownNameError
        If it is none of the nine.
    InvalidInputError
        If the installed package comes without its test data.
    """
    name = find("graph in onnx-light", member, FILES)
    # onnx takes a quarter of a second to import, which listing data sets need not wait for.
    from boundmark.datasets.readers.onnx import file as onnx_file

    with as_file(files("onnx") / "backend" / "test" / "data" / "light" / name) as path:
        return onnx_file.load(path)


DATASET = Dataset(
    name="onnx-light",
    source=ComputationGraph,
    summary="Nine image classifiers, 224 x 224, batch 1, from the test data of the onnx package.",
    members=lambda: tuple(FILES),
    load=load,
)
