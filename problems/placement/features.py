"""Features of operators beside their costs: types, and shapes of the tensors that they write.

No objective depends on them. Methods that learn from them can only read what an instance holds, so
an instance made with ``features = "operators"`` has them in its canonical JSON, and another hash.
"""

from collections.abc import Mapping
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import is_integer_list
from boundmark.problems.placement.graph import PlacementGraph

COSTS, OPERATORS = "costs", "operators"

FIELDS = ("op_types", "output_shapes")


def check_described(graph: PlacementGraph) -> None:
    """Refuse a graph without types of operators and shapes of outputs.

    Raises
    ------
    InvalidInputError
        If it does not.
    """
    if not graph.op_types or not graph.output_shapes:
        raise InvalidInputError(
            "features is 'operators', and the graph does not say its operators' types and output "
            "shapes; expected a model file, or features = 'costs'."
        )


def to_json(graph: PlacementGraph) -> dict[str, Any]:
    """Return the fields of a stored instance with a graph's types and shapes."""
    return {
        "op_types": list(graph.op_types),
        "output_shapes": [list(shape) for shape in graph.output_shapes],
    }


def from_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored types and shapes, if any, as arguments of `PlacementGraph`.

    Raises
    ------
    InvalidInputError
        If one is there without the other, or is not what the format says.
    """
    given = [field for field in FIELDS if field in value]
    if not given:
        return {}
    for field in FIELDS:
        if not isinstance(value.get(field), list) or len(value[field]) != len(value["duration"]):
            raise InvalidInputError(
                f"{field} is not a list with an entry for each operator, and {given[0]} is there."
            )
    for entry in value["op_types"]:
        if not isinstance(entry, str):
            raise InvalidInputError(f"op_types has {quoted(entry)}; expected texts.")
    for entry in value["output_shapes"]:
        if not is_integer_list(entry) or any(not 0 <= extent < 2**63 for extent in entry):
            raise InvalidInputError(
                f"output_shapes has {quoted(entry)}; expected lists of non-negative integers, of "
                "at most 63 bits."
            )
    return {
        "op_types": tuple(value["op_types"]),
        "output_shapes": tuple(map(tuple, value["output_shapes"])),
    }
