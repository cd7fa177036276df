"""How the answers of each problem are shown."""
