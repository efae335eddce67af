"""`python -m bench.campaign.live`: what plain `locust` starts beside a page of its own, and nobody else.

It computes the page's seconds, and has no buttons, no delay lines and no place to keep a test.
"""

import os
import socket

from bench.campaign.live.session import attend
from bench.load.channel import FD_VARIABLE, Channel

if __name__ == "__main__":
    attend(Channel(socket.socket(fileno=int(os.environ.pop(FD_VARIABLE)))))
