"""The one base of all expected failures: the command line prints their message and exits with 1."""


class LockbenchError(Exception):
    """Something that a user can mend; the message says what happened and what to do."""
