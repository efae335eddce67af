"""The gate before moto: one whole request at a time, and none that is not whole."""

import io
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

import boto3
import pytest

from bench.errors import LockbenchError
from bench.hazards.resources.moto_process import OneAtATime
from bench.hazards.resources.s3_object import BUCKET, S3Object, S3ObjectHost
from tests.hazards.resources.hosted import attempt


class Slow:
    """An application that stays inside until told to leave, and counts who is inside."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.leave = threading.Event()
        self.inside = 0
        self.inside_most = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.inside += 1
        self.inside_most = max(self.inside_most, self.inside)
        self.entered.release()
        assert self.leave.wait(30)
        self.inside -= 1
        return [environ["wsgi.input"].read()]


def request(body: bytes) -> dict[str, Any]:
    return {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body + b"the next request")}


def test_one_request_at_a_time() -> None:
    slow = Slow()
    gated = OneAtATime(slow)
    answers: list[Iterable[bytes]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(gated(request(b"body"), lambda *_: None))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert slow.entered.acquire(timeout=30)
    assert not slow.entered.acquire(timeout=0.3), "a second one came in"
    slow.leave.set()
    for thread in threads:
        thread.join(30)
    assert slow.inside_most == 1
    assert answers == [[b"body"]] * 3


@pytest.mark.parametrize("header", ["If-Match: nothing", "If-None-Match: *"])
def test_a_writer_stopped_while_it_sends_holds_up_nobody(header: str) -> None:
    with S3ObjectHost().hosted() as place, socket.create_connection(("127.0.0.1", place["port"])) as half:
        half.sendall(
            f"PUT /{BUCKET}/k HTTP/1.1\r\nHost: localhost\r\n{header}\r\nContent-Length: 1000\r\n\r\n{{".encode()
        )
        other = S3Object.open(place)
        assert other.write(attempt("k", 1)).accepted
        other.close()


def test_the_server_tells_a_version_that_is_not_the_newest() -> None:
    """What all of it rests on, asked of the server itself."""
    with S3ObjectHost().hosted() as place:
        raw = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{place['port']}",
            region_name="us-east-1",
            aws_access_key_id="lockbench",
            aws_secret_access_key="lockbench",
        )
        first = raw.put_object(Bucket=BUCKET, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
        second = raw.put_object(Bucket=BUCKET, Key="k", Body=b"2", IfMatch=first)["ETag"]
        for condition in ({"IfNoneMatch": "*"}, {"IfMatch": first}):
            with pytest.raises(raw.exceptions.ClientError) as refused:
                raw.put_object(Bucket=BUCKET, Key="k", Body=b"3", **condition)
            assert refused.value.response["Error"]["Code"] == "PreconditionFailed"
        answer = raw.get_object(Bucket=BUCKET, Key="k")
        assert (answer["Body"].read(), answer["ETag"]) == (b"2", second)
        raw.close()


def test_where_moto_is_not_installed_one_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.hazards.resources.s3_object.find_spec", lambda name: None)
    with pytest.raises(LockbenchError, match=r"install lockbench\[s3\]"), S3ObjectHost().hosted():
        pass
