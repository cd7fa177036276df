"""Tables of `microbatch`: what verified schedules are like."""
