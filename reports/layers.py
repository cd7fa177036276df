"""The report of `layers`: the usual one, held against the even splits that tools make."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.problem_report import Grouping

REPORT = replace(
    DEFAULT,
    grouping=Grouping("phase"),
    # vLLM's rule is for serving, and refuses training; DeepSpeed's is the even split there.
    baselines=("vllm-even", "deepspeed-uniform", "megatron-uniform"),
)
