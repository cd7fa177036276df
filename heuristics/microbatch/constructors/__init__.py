"""Schedules made by hand: orders of the blocks on each device, and the starts that follow."""
