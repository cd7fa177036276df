"""What makes a run worse than another: each module holds one gate, all look at facts alone."""
