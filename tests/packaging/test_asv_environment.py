"""The environment under which asv stores what is measured."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the class, and the configuration of this repository."""
    config = pytest.importorskip("asv.config")
    spec = importlib.util.spec_from_file_location("asv_environment", ROOT / "asv_environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(ROOT)
    return module.InstalledEnvironment, config.Config.load("asv.conf.json")


def test_curves_do_not_depend_on_where_python_is(installed: Any) -> None:
    """`asv run` makes an environment of that name, so that both add to one curve."""
    environment, config = installed
    virtualenv = pytest.importorskip("asv.plugins.virtualenv")
    version = "{}.{}".format(*sys.version_info)
    found = environment(config, sys.executable, {}, {})
    made = virtualenv.Virtualenv(config, version, {}, {})
    assert (found.name, found.python) == (made.name, made.python)
    assert found.name == f"virtualenv-py{version}"
    assert sys.executable.replace("/", "_") not in found.name
