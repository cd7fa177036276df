"""
Placement: put operators on the devices of a cluster
====================================================

The operators of SqueezeNet run on a cluster of four GPUs of two kinds; tensors travel over their
links. The plot shows when each device computes.
"""

import matplotlib.pyplot as plt

import boundmark

model = boundmark.load("onnx-light/squeezenet", device="moirai-intra-server")
answer = boundmark.solve(model, "placement", seconds=10, quiet=True)
print(f"{answer.cost:,} ns, at least {answer.bound:,} ns: {answer.facts()['gap']}")

fig, ax = plt.subplots(figsize=(7.3, 3), layout="constrained")
answer.plot(ax)

# %%
# How many operators each device has:
answer.solution["device"].value_counts().to_frame("operators")
