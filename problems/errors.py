"""Failures that users can mend: every one has a sentence for them."""


class BoundmarkError(Exception):
    """A failure whose message is one sentence for the user: what, where, and what was expected."""


class InvalidInputError(BoundmarkError):
    """An input (file, graph, parameter) does not say what its format or problem asks for."""


class MissingFileError(InvalidInputError):
    """An input that the user has to provide is not there."""


class UnknownNameError(BoundmarkError):
    """A name (of a suite, method, data set or instance) that does not exist."""


class UnsupportedError(BoundmarkError):
    """A method cannot treat this instance here, e.g. for want of a licence."""


class StoreError(BoundmarkError):
    """A results folder cannot be read or written as asked."""
