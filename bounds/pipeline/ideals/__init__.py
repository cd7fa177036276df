"""Down-sets (ideals) of a graph, and chains of them."""
