"""The statistics that tables and plots show; each module defines one and cites its source."""
