"""`microbatch`: schedules of many micro-batches on a pipeline (papers/tessel)."""

from boundmark.problems.microbatch.block import Block
from boundmark.problems.microbatch.instance import MicrobatchInstance
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.microbatch.schedule import Repetend, Schedule
from boundmark.problems.problem import Parameter, Problem

PROBLEM = Problem(
    name="microbatch",
    description="Schedule micro-batches on placed stages: shortest period, or shortest makespan.",
    sources=(BlockLayout,),
    adapt=lambda layout: layout,
    parameters=(
        Parameter(
            "memory",
            "Memory of each device; 0 for twice the number of devices.",
            least=0,
            default=0,
        ),
        Parameter(
            "micro_batches",
            "Number of micro-batches whose makespan counts; 0 if the period counts.",
            least=0,
            default=0,
        ),
    ),
    instance=MicrobatchInstance.of,
    instance_from_json=MicrobatchInstance.from_json,
    solution_from_json=Schedule.from_json,
)

__all__ = ["PROBLEM", "Block", "BlockLayout", "MicrobatchInstance", "Repetend", "Schedule"]
