"""Loads of devices under fractional assignments: linear programs, and which intervals to ask."""
