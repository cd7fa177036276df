"""Notes that several tables have."""

COMMON = (
    "The same, over the n instances on which every method delivered; a method that delivered on no "
    "instance of a column is not asked for there. Only these numbers compare methods on equal "
    "terms."
)
