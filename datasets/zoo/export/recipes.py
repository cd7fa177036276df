"""All recipes of the zoo, in the order in which it lists its graphs."""

from boundmark.datasets.zoo.export import language, own, vision

RECIPES = (*vision.RECIPES, *language.RECIPES, *own.RECIPES, *language.TRAINING)
