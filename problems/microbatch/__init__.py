"""`microbatch`: schedules of many micro-batches on a pipeline ([TESSEL24])."""

from boundmark.problems.microbatch.instance import MicrobatchInstance
from boundmark.problems.microbatch.layout import Block, BlockLayout
from boundmark.problems.microbatch.schedule import NAMING, TABLE, Repetend, Schedule
from boundmark.problems.parameter import IntegerParameter
from boundmark.problems.problem import Problem

PROBLEM = Problem(
    name="microbatch",
    description="Schedule micro-batches on a layout of blocks: shortest period or makespan.",
    sources=(BlockLayout,),
    source_words="a layout of blocks on devices",
    adapt=lambda layout: layout,
    parameters=(
        IntegerParameter(
            "memory",
            "memory of each device, in the layout's units",
            least=1,
            default=0,
            default_text="twice the number of devices",
        ),
        IntegerParameter(
            "micro_batches",
            "number of micro-batches whose makespan is minimised; 0 to minimise the period",
            least=0,
            default=0,
        ),
    ),
    instance=MicrobatchInstance.of,
    instance_from_json=MicrobatchInstance.from_json,
    solution_from_json=Schedule.from_json,
    immediate={
        "device-load": {},
        "gpipe": {},
        "1f1b": {},
        "1f1b-plus": {},
        "interleaved-1f1b": {},
        "chimera-direct": {},
        "zb-h1": {},
        "zb-v": {},
        "dualpipe-v": {},
        "memory-latency": {},
    },
    rounds=(("modulo",), ("modulo-tree", "tessel")),
    precedence=20,
    naming=NAMING,
    table=TABLE,
)

__all__ = ["PROBLEM", "Block", "BlockLayout", "MicrobatchInstance", "Repetend", "Schedule"]
