"""The parts of a report; each module turns tables of numbers into what the page says."""
