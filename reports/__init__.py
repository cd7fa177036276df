"""Stored results, and the tables, plots and pages made from them alone.

`report.write_report` makes a report of a results folder; `problem_report` says what a problem may
add to it.
"""
