"""Parts of the page about `microbatch`."""
