"""Print the table of docs/pytorch.md: five models by three exporters, with certified optima.

`python docs/tables/torch_exports.py` takes half a minute; the files are in tests/datasets.
"""

import tempfile
import zipfile
from pathlib import Path

import boundmark

ARCHIVE = Path(__file__).parents[2] / "tests" / "datasets" / "torch_exports" / "exports.zip"
EXPORTS = ("legacy.onnx", "dynamo.onnx", "export.pt2")


def main(device: str = "nvidia-t4", k: int = 4) -> None:
    """Print a row for each model: operators, work and optimum by each exporter."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
        for model in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
            nodes, work, costs = [], [], []
            for export in EXPORTS:
                loaded = boundmark.load(model / export, device=device)
                answer = boundmark.solve(loaded, "pipeline", k=k, quiet=True)
                assert answer.is_optimal
                nodes.append(loaded.nodes)
                work.append(int(answer.instance.graph.work.sum()))
                costs.append(answer.cost)
            spread = max(costs) / min(costs) - 1
            columns = (f"{value:,}" for value in (*nodes, *work, *costs))
            print(f"| {model.name} | {' | '.join(columns)} | {spread:.2%} |")


if __name__ == "__main__":
    main()
