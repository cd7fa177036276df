"""
Layers: cut a language model between unequal devices
====================================================

Llama-3-8B runs on two GPUs of different speed. The best cut is compared with an even one.
"""

import matplotlib.pyplot as plt

import boundmark

model = boundmark.load("language-models/llama-3-8b")
answer = boundmark.solve(model, "layers", devices="1xA10,1xT4", seconds=60, quiet=True)
print(f"{answer.cost:,} ns for the slower device, at least {answer.bound:,} ns")

# %%
# The same number of layers for both devices:
even = answer.solution.copy()
first, last = even["device"].iloc[0], even["device"].iloc[-1]
even["device"] = [first] * (len(even) // 2) + [last] * (len(even) - len(even) // 2)
graded = boundmark.evaluate(model, even, "layers", devices="1xA10,1xT4", quiet=True)
print(f"{graded.cost:,} ns, {graded.cost / answer.cost - 1:.1%} above the best cut")

# %%
# Layers of each device:
layers = {
    name: one.solution["device"].value_counts()
    for name, one in {"best cut": answer, "even cut": graded}.items()
}
fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
for device in (first, last):
    sizes = [counts[device] for counts in layers.values()]
    left = [0, 0] if device == first else [counts[first] for counts in layers.values()]
    ax.bar_label(ax.barh(list(layers), sizes, left=left, label=device), label_type="center")
ax.set_xlabel("layers, with embedding and output")
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
