"""Problems: graphs, instances, solutions, objectives; contracts of methods and data sets."""
