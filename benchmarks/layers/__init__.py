"""What `layers` has beside `solve`: the search for the best parallelism."""
