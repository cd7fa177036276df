"""Run the stages of a partition of `pipeline` on this machine, and compare their times."""
