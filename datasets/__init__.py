"""Data sets, the sources of instances: generators, model files, published formats."""
