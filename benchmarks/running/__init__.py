"""Run suites: what is planned, run under limits, checked and stored."""
