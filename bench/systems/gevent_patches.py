"""Whether gevent has taken over this process: asked of what is loaded, so that nothing here imports gevent."""

import sys
from typing import Any


def gevent_patches() -> Any:
    """gevent's record of what it patched (`gevent.monkey`); None where sockets are the standard library's own."""
    patches = sys.modules.get("gevent.monkey")
    return patches if patches is not None and patches.is_module_patched("socket") else None
