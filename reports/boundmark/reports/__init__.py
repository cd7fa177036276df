"""Stored results, and the statistics, tables and pages made from them alone."""
