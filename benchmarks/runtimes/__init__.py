"""Libraries that run models and time their operators."""
