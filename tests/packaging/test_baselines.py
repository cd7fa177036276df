"""The committed baselines: they are of the code as it is."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from boundmark.problems.catalog import methods

BASELINES = Path(__file__).parents[2] / "benchmarks" / "baselines"


@pytest.mark.parametrize("path", sorted(BASELINES.glob("*.parquet")), ids=lambda path: path.stem)
def test_methods_have_the_versions_of_the_code(path: Path) -> None:
    """Whoever raises a version, or removes a method, refreshes the baseline in the same commit."""
    rows = pq.read_table(path, columns=["method", "method_version"]).to_pandas().drop_duplicates()
    known = methods()
    stale = {
        row.method: (row.method_version, known[row.method].version if row.method in known else None)
        for row in rows.itertuples()
        if row.method not in known or known[row.method].version != row.method_version
    }
    assert stale == {}, "refresh it with: nox -s baseline"
