"""What is optimised: graphs, instances, solutions, objectives, and the contract of a method."""
