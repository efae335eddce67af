"""Calls that an exception ended from outside, as Python tells it."""


def ended_by(raised: BaseException, kind: type[BaseException]) -> bool:
    """Whether what a call raised is the exception that a signal's handler threw into it.

    Where that struck in a wait of threading's own Condition, Python tells another one about it: it unlocks twice.
    """
    return isinstance(raised, kind) or (isinstance(raised, RuntimeError) and isinstance(raised.__context__, kind))
