"""
Slicing: cut operators over edge devices
========================================

Four edge devices, connected by a router, share each operator of AlexNet. The plot shows how long
operators compute and wait for data.
"""

import matplotlib.pyplot as plt

import boundmark

answer = boundmark.solve("onnx-light/alexnet", "slicing", edge_devices=4, seconds=10, quiet=True)
print(f"{answer.cost:,} ns, at least {answer.bound:,} ns: {answer.facts()['gap']}")

fig, ax = plt.subplots(figsize=(7.3, 3.6), layout="constrained")
answer.plot(ax)

# %%
# How much of the first operators each device computes:
answer.solution.head(8)
