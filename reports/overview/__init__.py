"""Sections before and after those of the problems: summary, settings, limitations."""
