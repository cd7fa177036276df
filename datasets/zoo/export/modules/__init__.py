"""Architectures that neither torchvision nor transformers have, written after their papers."""
