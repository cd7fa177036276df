import importlib
import inspect
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from boundmark.benchmarks import micro

IS_TIMED = re.compile("(time|peakmem|track)_").match


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in Path(micro.__path__[0]).glob("bench_*.py")])
def test_each_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with the first of its parameters: what a benchmark calls is still there."""
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"boundmark.benchmarks.micro.{name}")
    classes = [one for one in vars(module).values() if inspect.isclass(one)]
    timed = [(one, names) for one in classes if (names := [*filter(IS_TIMED, vars(one))])]
    assert timed
    for benchmark, names in timed:
        run_first(benchmark, names, tmp_path, monkeypatch)


def run_first(
    benchmark: Any, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run what asv runs of a class, with the first of its parameters."""
    params = getattr(benchmark, "params", ())
    nested = params if params and isinstance(params[0], tuple | list) else [params] * bool(params)
    first = next(itertools.product(*nested))
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
