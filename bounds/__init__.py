"""Lower bounds: methods that report certificates, a folder per problem, and their checker."""
