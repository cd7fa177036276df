"""
Micro-batches: schedule forward and backward blocks
===================================================

Four devices train a model whose embedding is spread over all of them. A schedule that repeats says
when each device runs which block; its period is the time per micro-batch.
"""

import matplotlib.pyplot as plt

import boundmark

answer = boundmark.solve("shapes/nn-4-train", "microbatch", memory=6, seconds=60, quiet=True)
print(f"a micro-batch every {answer.cost} ticks, at least {answer.bound}")

fig, ax = plt.subplots(figsize=(7.3, 3), layout="constrained")
answer.plot(ax)

# %%
# When each block begins, of the first micro-batches:
answer.solution.head()
