"""
Compare your own heuristic with registered methods
==================================================

The heuristic is a function from an instance to a solution. Its solutions are verified and compared
like those of any method.
"""

import matplotlib.pyplot as plt
import numpy as np

import boundmark


def equal_work(instance):
    """Cut a topological order into stages of about equal work."""
    order = instance.graph.dag.topological_order
    done = np.cumsum(instance.graph.work[order])
    stages = np.empty(instance.nodes, dtype=int)
    stages[order] = np.minimum(instance.k - 1, done * instance.k // (done[-1] + 1))
    return stages


names = ["squeezenet", "alexnet", "inception-v1", "resnet50"]
found = boundmark.benchmark(
    equal_work,
    [boundmark.load(f"onnx-light/{name}") for name in names],
    against=["uniform", "slicegraph", "prefix-bound"],
    k=4,
    quiet=True,
)
found.pivot(index="instance", columns="method", values="gap").round(3)

# %%
# Gaps to the best certified bound of each instance, in percent:

fig, ax = plt.subplots(layout="constrained")
table = 100 * found.pivot(index="method", columns="instance", values="gap").dropna(how="all")
table.plot.barh(ax=ax, xlabel="above the certified bound (%)", ylabel="", legend=False)
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
