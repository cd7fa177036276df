"""`viprchk` of github.com/scipopt/vipr, where it is found: a checker that others wrote."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from vipr_samples import CERTIFICATES as OF_STAGES
from vipr_samples import (
    MUTATIONS,
    SUPERBLOCK_CERTIFICATES,
    Document,
    files,
    stages_certificate,
    superblocks_certificate,
)

from boundmark.problems.pipeline import PipelineInstance

PROGRAM = shutil.which(os.environ.get("VIPRCHK", "viprchk"))

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="viprchk is not found")

CERTIFICATES = [*(f"mip-tree, {name}" for name in OF_STAGES), *SUPERBLOCK_CERTIFICATES]


def certificate(name: str) -> tuple[PipelineInstance, Document]:
    """Return an instance and its certificate, one of `CERTIFICATES`."""
    if name in SUPERBLOCK_CERTIFICATES:
        return superblocks_certificate(name)
    return stages_certificate(name.removeprefix("mip-tree, "))


def is_confirmed(path: Path, bound: int) -> bool:
    """Whether the program ends well and names the bound."""
    assert PROGRAM is not None
    done = subprocess.run([PROGRAM, str(path)], capture_output=True, text=True, timeout=60)
    claim = f"Successfully verified optimal value range [{bound}, inf)"
    return done.returncode == 0 and claim in done.stdout


@pytest.mark.parametrize("name", CERTIFICATES)
def test_it_confirms_every_file(name: str, tmp_path: Path) -> None:
    """The bound of each file is the certificate's."""
    sample, document = certificate(name)
    for path in files(sample, document, tmp_path):
        assert is_confirmed(path, document["bound"])


@pytest.mark.parametrize("name", ["mip-tree, overflow, 16", "bottleneck-tree, three stages, 15"])
@pytest.mark.parametrize("mutation", ["bound", "first multiplier"])
def test_it_refuses_changed_files(name: str, mutation: str, tmp_path: Path) -> None:
    """A raised bound is refused, and so is each multiplier that is changed, one at a time."""
    sample, document = certificate(name)
    (path,) = files(sample, document, tmp_path)
    mutants = MUTATIONS[mutation](path.read_text())
    assert mutants
    for mutant in mutants:
        path.write_text(mutant)
        stated = re.search(r"^RTP range (\d+)", mutant, re.MULTILINE)
        assert stated is not None
        assert not is_confirmed(path, int(stated[1]))
