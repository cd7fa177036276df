"""TensorFlow's CostGraphDef in text form, in which REGAL's synthetic graphs are published.

The format is tensorflow/core/framework/cost_graph.proto. The message types are built here at run
time, so that protobuf's own parser reads the text and TensorFlow is not needed.
"""

from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.arrays import non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.pipeline.graph import PipelineGraph

# The ends that TensorFlow adds to every graph: no work, no tensors.
ARTIFICIAL_NODES = frozenset({"_SOURCE", "_SINK"})

# Fields of each message, "repeated" marked by a star. All that any version of TensorFlow writes is
# known, so that a field which is not is a mistake in the file.
_MESSAGES = {
    "CostGraphDef": "node:*Node cost:*AggregatedCost",
    "AggregatedCost": "cost:float dimension:string",
    "Node": (
        "name:string device:string id:int32 input_info:*InputInfo output_info:*OutputInfo "
        "temporary_memory_size:int64 persistent_memory_size:int64 host_temp_memory_size:int64 "
        "device_temp_memory_size:int64 host_persistent_memory_size:int64 "
        "device_persistent_memory_size:int64 compute_cost:int64 compute_time:int64 "
        "memory_time:int64 is_final:bool control_input:*int32 inaccurate:bool"
    ),
    "InputInfo": "preceding_node:int32 preceding_port:int32",
    "OutputInfo": "size:int64 alias_input_port:int64 shape:TensorShapeProto dtype:DataType",
    "TensorShapeProto": "dim:*Dim unknown_rank:bool",
    "Dim": "size:int64 name:string",
}

# Only the names matter in a text; the values are TensorFlow's, 100 more for a reference.
_DATA_TYPES = (
    "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 "
    "BFLOAT16 QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 "
    "FLOAT8_E4M3FN FLOAT8_E4M3FNUZ FLOAT8_E4M3B11FNUZ FLOAT8_E5M2FNUZ INT4 UINT4 INT2 UINT2"
)


@cache
def _message_type() -> Any:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="cost_graph.proto", syntax="proto3")
    data_type = file.enum_type.add(name="DataType")
    for number, name in enumerate(_DATA_TYPES.split()):
        data_type.value.add(name=f"DT_{name}", number=number)
        if number:
            data_type.value.add(name=f"DT_{name}_REF", number=100 + number)
    for message, fields in _MESSAGES.items():
        descriptor = file.message_type.add(name=message)
        for number, (name, kind) in enumerate((part.split(":") for part in fields.split()), 1):
            added = descriptor.field.add(name=name, number=number, label=field.LABEL_OPTIONAL)
            if kind.startswith("*"):
                added.label = field.LABEL_REPEATED
                kind = kind.removeprefix("*")
            if kind in _MESSAGES or kind == "DataType":
                added.type = field.TYPE_ENUM if kind == "DataType" else field.TYPE_MESSAGE
                added.type_name = kind
            else:
                added.type = field.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("CostGraphDef"))


def load(path: str | Path) -> PipelineGraph:
    """Read a graph; ticks are `compute_cost`, and a tensor takes `size` ticks to transfer.

    A field that is missing is 0, as in any protobuf. A node with several outputs has the size of
    the first ([MTPP24], Appendix C.2); one without has none. A control input is an edge like any
    other: where it is all that a consumer takes from a producer, the producer's tensor counts all
    the same. `_SOURCE` and `_SINK` are left out.

    Raises
    ------
    InvalidInputError
        If the text is cut off or not a CostGraphDef, ids repeat, an input names no node, costs or
        sizes are negative, or edges form a cycle.
    """
    path = Path(path)
    content = read_bytes(path)
    with naming(path):
        return _parse(content)


def _parse(content: bytes) -> PipelineGraph:
    try:
        parsed = text_format.Parse(content.decode(), _message_type()())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"expected a complete CostGraphDef as text, found {reason}.") from (
            error
        )
    artificial = {node.id for node in parsed.node if node.name in ARTIFICIAL_NODES}
    real = [node for node in parsed.node if node.name not in ARTIFICIAL_NODES]
    names = tuple(node.name or str(node.id) for node in real)

    number: dict[int, int] = {}
    for node, name in zip(real, names, strict=True):
        if node.id in number or node.id in artificial:
            raise InvalidInputError(f"id {node.id} of node {name!r} is taken; expected unique ids.")
        number[node.id] = len(number)

    edges = []
    for node, name in zip(real, names, strict=True):
        inputs = [("preceding_node", info.preceding_node) for info in node.input_info]
        inputs += [("control_input", id_) for id_ in node.control_input]
        for field, id_ in inputs:
            if id_ in artificial:
                continue
            if id_ not in number:
                raise InvalidInputError(
                    f"{field} {id_} of node {name!r} is unknown; expected the id of a node."
                )
            edges.append((number[id_], number[node.id]))

    sizes = [node.output_info[0].size if node.output_info else 0 for node in real]
    return PipelineGraph.without_parameters(
        dag=Dag.from_edges(len(real), edges, names),
        work=non_negative_integers([node.compute_cost for node in real], "compute_cost", names),
        transfer=non_negative_integers(sizes, "size of output_info", names),
        names=names,
    )


FORMAT = FileFormat("CostGraphDef", (".pbtxt", ".txt"), load)
