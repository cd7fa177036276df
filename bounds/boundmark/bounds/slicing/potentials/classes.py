"""Classes of widths: single widths where they matter most, and ranges in between."""


def class_begins(length: int, devices: int, count: int) -> list[int]:
    """Return the least width of each class, ascending; the last class is the whole operator.

    Parameters
    ----------
    count
        Of classes, at most. If there are more widths, the least one has a class of its own, and the
        others are divided evenly.
    """
    least = -(-length // devices)
    if length - least < count:
        return list(range(least, length + 1))
    ranges = count - 2
    inner = [least + 1 + (length - least - 1) * at // ranges for at in range(ranges)]
    return sorted({least, *inner, length})
