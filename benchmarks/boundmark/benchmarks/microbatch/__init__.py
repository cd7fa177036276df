"""What the command line does for `microbatch` alone, and the execution of schedules."""
