"""What share of a stage each node takes, and which stages that leaves to it."""
