"""Where instances come from: generators, model files, published formats."""
