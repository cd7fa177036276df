"""Series decomposition: bounds of modules along a chain of operators, added up."""
