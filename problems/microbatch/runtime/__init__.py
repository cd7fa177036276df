"""Instruction lists with which devices follow a schedule ([TESSEL24], Section IV-D)."""

from boundmark.problems.microbatch.runtime.instructions import (
    Instruction,
    Program,
    Receive,
    Run,
    Send,
    Wait,
)
from boundmark.problems.microbatch.runtime.lowering import program_of
from boundmark.problems.microbatch.runtime.simulation import Simulation, simulate

__all__ = [
    "Instruction",
    "Program",
    "Receive",
    "Run",
    "Send",
    "Simulation",
    "Wait",
    "program_of",
    "simulate",
]
