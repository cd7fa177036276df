"""The statistics that tables and plots show; each cites its source."""
