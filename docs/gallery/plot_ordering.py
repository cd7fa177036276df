"""
Ordering: run operators so that tensors take the least memory
=============================================================

The order in which one device runs ShuffleNet decides how many tensors wait for later operators. The
plot shows the memory that they take; most of the model has only one order.
"""

import matplotlib.pyplot as plt

import boundmark

answer = boundmark.solve("zoo/shufflenet-v2-2.0", "ordering", seconds=60, quiet=True)
print(f"{answer.cost:,} bytes at the peak, at least {answer.bound:,} bytes")

fig, ax = plt.subplots(figsize=(7.3, 3), layout="constrained")
answer.plot(ax)

# %%
# What takes the memory at the peak:
answer.losses
