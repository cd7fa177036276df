"""Models as chains of layers: configurations of Hugging Face, headers of GGUF, tables."""
