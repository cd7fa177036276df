"""What stands before and after the problems' own sections: summary, settings, limitations."""
