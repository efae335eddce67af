"""What Locust loads: the user classes, one a system, and the wiring that gives them options and a recorder.

A locustfile of your own may import from here and add to it:

    from bench.load.locustfile import RedisLockUser
"""

from locust import events  # isort: skip  # first: it patches the standard library before a client is imported

from bench.load.sampled import sample_if_asked
from bench.load.users import USER_CLASSES, LockUser, SelectedLockUser
from bench.load.wiring import install

__all__ = ("LockUser", "SelectedLockUser", *USER_CLASSES)

globals().update(USER_CLASSES)
install(events)
sample_if_asked(events)
