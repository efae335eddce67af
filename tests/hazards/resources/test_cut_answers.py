"""An answer that is cut off in its middle is an unreachable resource, whichever library notices it."""

import socket
import struct
import threading

import pytest

from bench.hazards.resources.base import ResourceUnreachable
from bench.hazards.resources.s3_object import S3Object

_BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: x\r\n\r\n{"
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset


@pytest.mark.parametrize("reset", [False, True])
def test_an_object_store_that_ends_in_the_middle_of_its_answer(reset: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_half() -> None:
            with server.accept()[0] as client:
                client.recv(65_536)
                client.sendall(_BEGUN)
                if reset:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

        answering = threading.Thread(target=answer_half)
        answering.start()
        with pytest.raises(ResourceUnreachable, match="S3"):
            S3Object.open({"port": server.getsockname()[1]})
        answering.join(10)
