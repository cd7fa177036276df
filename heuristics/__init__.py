"""Upper bounds: methods that report solutions, a folder per problem."""
