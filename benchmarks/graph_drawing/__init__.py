"""Pictures of graphs: SVG to look at, DOT for graphviz."""
