"""asv's environment for what is installed, stored under one name wherever its Python is.

asv names an existing environment after the path of its interpreter, so that every checkout and
every virtual environment begins a curve of its own. This one is named as those that asv itself
makes are, after tool and version of Python: what `asv run` builds and what `nox -s asv` finds are
one curve.
"""

from typing import Any

from asv.environment import ExistingEnvironment, get_env_name


class InstalledEnvironment(ExistingEnvironment):  # type: ignore[misc]
    """The environment of what is installed: `asv run --environment installed:python ...`."""

    tool_name = "installed"

    def __init__(self, conf: Any, executable: str, requirements: Any, tagged_env_vars: Any) -> None:
        super().__init__(conf, executable, requirements, tagged_env_vars)
        # The base class leaves the path here, by which curves are told apart.
        version = "import sys; print('%d.%d' % sys.version_info[:2])"
        self._python = self.run(["-c", version]).strip()
        self._environment_type = conf.environment_type

    @property
    def name(self) -> str:
        """The name of results: that of an environment which asv makes of the same version."""
        if not hasattr(self, "_environment_type"):
            return str(super().name)
        return str(get_env_name(self._environment_type, self._python, {}, self._tagged_env_vars))
