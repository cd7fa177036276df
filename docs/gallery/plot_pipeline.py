"""
Pipeline: divide a model into stages
====================================

SqueezeNet is partitioned into four stages, and a certificate says how far from optimal that is at
most. The plot shows the cost of each stage.
"""

import matplotlib.pyplot as plt

import boundmark

answer = boundmark.solve("onnx-light/squeezenet", "pipeline", k=4, quiet=True)
print(f"{answer.cost:,} ns, at least {answer.bound:,} ns: {answer.facts()['gap']}")

fig, ax = plt.subplots(layout="constrained")
answer.plot(ax)

# %%
# The checker verifies the proof without any solver:
print(answer.certificate.check())

# %%
# The stage of each operator, by name:
answer.solution.head()
