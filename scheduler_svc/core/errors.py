"""The two exceptions of the core; every expected outcome is a value instead."""


class InvariantError(RuntimeError):
    """A bug of ours: the state can no longer be trusted, so the process must end."""


class InputError(ValueError):
    """An object that cannot be used; says where in the object and what is allowed."""
