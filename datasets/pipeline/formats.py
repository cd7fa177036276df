"""File formats that state the costs of stages."""

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.pipeline import cost_graph_def, pipedream_profile

COST_GRAPH_DEF = FileFormat("CostGraphDef", (".pbtxt", ".txt"), cost_graph_def.load)
PROFILE = FileFormat(
    "PipeDream profile", (".txt",), pipedream_profile.load, pipedream_profile.is_profile
)

FORMATS = (COST_GRAPH_DEF, PROFILE)
