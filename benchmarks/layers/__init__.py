"""`layers`: how answers are shown."""
