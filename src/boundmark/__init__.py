"""Benchmarks for running one DNN on many devices, with a certificate for every lower bound.

>>> import boundmark
>>> answer = boundmark.solve("onnx-light/squeezenet", k=4, quiet=True)
>>> answer.is_optimal
True

`docs/python.md` is a walk through the functions; the first use of one imports what it needs.

The layers lie in the folders of the same names at the root of the repository; links beside this
file make them one package in a checkout, and a wheel holds them as they are imported.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boundmark.benchmarks.api import evaluate, methods, solve
    from boundmark.benchmarks.function_benchmark import benchmark
    from boundmark.benchmarks.measuring.operator_times import Profile
    from boundmark.benchmarks.measuring.pipeline.tuning import Tuning, tune
    from boundmark.benchmarks.measuring.profiling import profile
    from boundmark.benchmarks.model_answer import BoundCertificate, ModelAnswer
    from boundmark.benchmarks.plan import PlanAnswer, plan
    from boundmark.benchmarks.results import Results, results, run
    from boundmark.benchmarks.solving.model import Model, load
    from boundmark.problems.errors import BoundmarkError as Error
    from boundmark.problems.method import Method
    from boundmark.reports import frame_plots as plots

    __version__: str

__all__ = [
    "BoundCertificate",
    "Error",
    "Method",
    "Model",
    "ModelAnswer",
    "PlanAnswer",
    "Profile",
    "Results",
    "Tuning",
    "benchmark",
    "evaluate",
    "load",
    "methods",
    "plan",
    "plots",
    "profile",
    "results",
    "run",
    "solve",
    "tune",
]

# Module of each name, and what it is called there.
_HOMES = {
    "BoundCertificate": "benchmarks.model_answer:BoundCertificate",
    "Error": "problems.errors:BoundmarkError",
    "Method": "problems.method:Method",
    "Model": "benchmarks.solving.model:Model",
    "ModelAnswer": "benchmarks.model_answer:ModelAnswer",
    "PlanAnswer": "benchmarks.plan:PlanAnswer",
    "Profile": "benchmarks.measuring.operator_times:Profile",
    "Results": "benchmarks.results:Results",
    "Tuning": "benchmarks.measuring.pipeline.tuning:Tuning",
    "benchmark": "benchmarks.function_benchmark:benchmark",
    "evaluate": "benchmarks.api:evaluate",
    "load": "benchmarks.solving.model:load",
    "methods": "benchmarks.api:methods",
    "plan": "benchmarks.plan:plan",
    "plots": "reports.frame_plots:",
    "profile": "benchmarks.measuring.profiling:profile",
    "results": "benchmarks.results:results",
    "run": "benchmarks.results:run",
    "solve": "benchmarks.api:solve",
    "tune": "benchmarks.measuring.pipeline.tuning:tune",
}


if not TYPE_CHECKING:
    # Type checkers know the names from above, and others they refuse.

    def __getattr__(name: str) -> Any:
        """Import the module of a name on first use, so that the package imports at once."""
        if name == "__version__":
            from importlib.metadata import version

            return version("boundmark")
        if name not in _HOMES:
            raise AttributeError(f"module 'boundmark' has no attribute {name!r}")
        from importlib import import_module

        module, _, there = _HOMES[name].partition(":")
        found = import_module(f"boundmark.{module}")
        globals()[name] = value = getattr(found, there) if there else found
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
