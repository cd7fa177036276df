"""Commands for `microbatch` alone, and the execution of schedules."""
