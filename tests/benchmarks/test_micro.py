import importlib
import inspect
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boundmark.benchmarks import micro

KINDS = ("time_", "peakmem_", "track_")


def benchmarks() -> Iterator[Any]:
    """Yield the classes that asv takes times of."""
    for path in sorted(Path(micro.__path__[0]).glob("bench_*.py")):
        module = importlib.import_module(f"boundmark.benchmarks.micro.{path.stem}")
        for found in vars(module).values():
            if inspect.isclass(found) and found.__module__ == module.__name__:
                yield pytest.param(found, id=f"{path.stem}.{found.__name__}")


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", list(benchmarks()))
def test_each_runs(benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with the first of its parameters: what a benchmark calls is still there."""
    monkeypatch.chdir(tmp_path)
    params = getattr(benchmark, "params", ())
    nested = params if params and isinstance(params[0], tuple | list) else [params] * bool(params)
    first = next(itertools.product(*nested))
    names = [name for name in vars(benchmark) if name.startswith(KINDS)]
    assert names
    for name in names:
        made = benchmark()
        if hasattr(made, "setup_cache"):
            monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
            monkeypatch.setattr(inspect.getmodule(benchmark), "SIZES", first)
            made.setup_cache()
        made.setup(*first)
        try:
            getattr(made, name)(*first)
        finally:
            getattr(made, "teardown", lambda *given: None)(*first)
