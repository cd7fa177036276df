"""Plots; each module makes one, as the data it shows and a figure."""
