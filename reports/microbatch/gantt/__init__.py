"""Drawings of schedules: devices downwards, time to the right."""
