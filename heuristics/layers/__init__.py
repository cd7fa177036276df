"""Heuristics for `layers`: the splits that tools make by default, and plans by rules of thumb."""

from boundmark.problems.method import Deferred, Method


def _default(
    name: str, summary: str, function: str, module: str = "defaults", version: int = 1
) -> Method:
    return Method(
        name=name,
        problem="layers",
        kind="heuristic",
        summary=summary,
        run=Deferred(f"boundmark.heuristics.layers.{module}:{function}"),
        version=version,
    )


METHODS: tuple[Method, ...] = (
    Method(
        name="interleave",
        problem="layers",
        kind="heuristic",
        summary="Virtual stages of even sizes, improved by moving layers between them.",
        run=Deferred("boundmark.heuristics.layers.interleave:run"),
    ),
    _default(
        "vllm-even", "Even counts of layers, the rest from the last stage but one on.", "vllm"
    ),
    _default(
        "accelerate-sequential",
        "Devices filled one after the other, as device_map='sequential' does.",
        "accelerate_sequential",
    ),
    _default(
        "accelerate-balanced",
        "Devices filled up to an equal share, as device_map='auto' and 'balanced' do.",
        "accelerate_balanced",
    ),
    _default(
        "accelerate-low-0",
        "As accelerate-balanced, with as little as possible on the first device.",
        "accelerate_balanced_low_0",
    ),
    _default("llama-cpp-memory", "Layers in proportion to free memory.", "llama_cpp"),
    _default(
        "llama-cpp-fit",
        "Layers on devices and the host as llama.cpp's --fit puts them.",
        "fit",
        "llama_cpp_host",
    ),
    _default(
        "llama-cpp-cpu-moe",
        "All experts on the host, all layers on devices in proportion to memory.",
        "all_experts",
        "llama_cpp_host",
    ),
    _default(
        "llama-cpp-ngl",
        "As many whole layers on devices as fit, the others on the host.",
        "most_layers",
        "llama_cpp_host",
    ),
    _default("megatron-uniform", "Equal counts of layers, if they divide.", "megatron_uniform"),
    _default(
        "megatron-outer",
        "Equal counts, where embedding and loss count as a layer each.",
        "megatron_outer",
    ),
    _default(
        "megatron-interleaved",
        "Equal counts in all virtual stages, if they divide.",
        "megatron_interleaved",
    ),
    _default(
        "deepspeed-uniform", "Equal counts of all layers, the first ones one more.", "uniform"
    ),
    _default(
        "deepspeed-parameters",
        "Counts whose largest and smallest parameters differ least, as they are by default.",
        "parameters",
        version=2,
    ),
    _default(
        "torchtitan-weighted", "Even counts, embedding and output as a layer each.", "torchtitan"
    ),
    _default(
        "torchtitan-interleaved",
        "Even counts in all virtual stages, embedding and output as a layer each.",
        "torchtitan_interleaved",
    ),
    _default(
        "plan-vllm",
        "For `plan`: tensor parallelism over a host, stages across hosts.",
        "tensor_then_stages",
        "plans",
    ),
    _default(
        "plan-megatron",
        "For `plan`: tensor parallelism over a host, then as many replicas as fit.",
        "tensor_then_replicas",
        "plans",
    ),
    _default(
        "plan-replicas",
        "For `plan`: as many replicas as fit, then tensor parallelism.",
        "replicas_then_tensor",
        "plans",
    ),
)
