"""Make the graphs of the data set `zoo` from torch modules; needs the extra `zoo`.

Nothing is downloaded and nothing is computed: modules are built on torch's `meta` device, whose
tensors have shapes and no contents, and `torch.export` records which operators they would run.
"""
