"""
A partition, and how far from optimal it is
===========================================

Cut SqueezeNet into four stages, and draw what each stage costs.
"""

import matplotlib.pyplot as plt

import boundmark

answer = boundmark.solve("onnx-light/squeezenet", "pipeline", k=4, quiet=True)
print(f"{answer.cost:,} ns, at least {answer.bound:,} ns, gap {answer.gap:.1%}")

fig, ax = plt.subplots(layout="constrained")
answer.plot(ax)

# %%
# The proof is checked again without any solver:
print(answer.certificate.check())

# %%
# Every operator's stage, by name:
answer.solution.head()
