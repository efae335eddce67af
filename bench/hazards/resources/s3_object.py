"""An object of the S3 API, replaced by a conditional PUT. Atomic because the PUT holds only for the version that was
read (If-Match with its ETag, If-None-Match for the first): the writer judges, and the server refuses a judgement of
anything but the newest version. An ETag never returns, since each version holds a longer log than the one before.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from bench.errors import LockbenchError
from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceHost,
    ResourceUnreachable,
)
from bench.hazards.resources.child import child_process
from bench.hazards.resources.ledger import State, entry_of, verdict_of
from bench.systems import aws

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "lockbench-resources"
# botocore lets through what urllib3 raises where an answer is cut off in its middle.
_FAILED = (BotoCoreError, HTTPError, HTTPException)
# The beginnings of the variables that moto reads (moto/settings.py), and those of the botocore inside it.
_MOTO_READS = ("MOTO_", "TEST", "S3_", "SF_", "INITIAL_", "DEFAULT_CONTAINER_", "AWS_", "BOTO")
# Another writer was quicker: 412; or is being served now: 409. 404: there is nothing that could match.
_NOT_THE_NEWEST = ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey")


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of the object. `etag` is None for the one before the first."""

    etag: str | None
    state: State
    log: tuple[dict[str, Any], ...]


class S3Object(Resource):
    """One client of its own. Each write reads, judges and swaps, anew for as long as another writer was quicker."""

    kind: ClassVar[str] = "s3-object"

    def __init__(self, port: int) -> None:
        self._client = client(port)

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(place["port"])
        opened._get("")
        return opened

    def read(self, key: str) -> Reading:
        return self._get(key).state.reading

    def write(self, attempt: Attempt) -> Judged:
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while time.monotonic() < deadline:
            found = self._get(attempt.key)
            for entry in found.log:
                if entry["attempt_id"] == attempt.attempt_id:
                    return verdict_of(entry)
            after, verdict = found.state.judge(attempt)
            log = (*found.log, entry_of(attempt, verdict))
            if self._swap(attempt.key, _Version(found.etag, after, log)):
                return verdict
            # Nothing of ours was stored, so judging anew is no retry of a write.
        raise ResourceUnreachable(f"S3: others were quicker for {ANSWER_WITHIN_S:g} s")

    def judged(self, key: str) -> Sequence[Judged]:
        return [verdict_of(entry) for entry in self._get(key).log]

    def close(self) -> None:
        self._client.close()

    def _get(self, key: str) -> _Version:
        try:
            answer = self._client.get_object(Bucket=BUCKET, Key=_name(key))
            kept = json.loads(answer["Body"].read())
        except ClientError as refused:
            if _code(refused) == "NoSuchKey":
                return _Version(None, State(), ())
            raise ResourceUnreachable(f"S3: {refused}") from refused
        except _FAILED as failed:
            raise ResourceUnreachable(f"S3: {failed}") from failed
        return _Version(answer["ETag"], State.from_tree(kept["state"]), tuple(kept["log"]))

    def _swap(self, key: str, new: _Version) -> bool:
        """Store it in place of the version with its ETag. False: that is not the newest any more."""
        body = json.dumps({"state": new.state.to_tree(), "log": new.log}).encode()
        try:
            if new.etag is None:
                self._client.put_object(Bucket=BUCKET, Key=_name(key), Body=body, IfNoneMatch="*")
            else:
                self._client.put_object(Bucket=BUCKET, Key=_name(key), Body=body, IfMatch=new.etag)
        except ClientError as refused:
            if _code(refused) in _NOT_THE_NEWEST:
                return False
            raise ResourceUnreachable(f"S3: {refused}") from refused
        except _FAILED as failed:
            raise ResourceUnreachable(f"S3: {failed}") from failed
        return True


class S3ObjectHost(ResourceHost):
    """Starts the server and ends it; it also ends by itself with the stage's process."""

    resource: ClassVar[type[Resource]] = S3Object

    @contextmanager
    def hosted(self) -> Iterator[Place]:
        if find_spec("moto") is None:
            raise LockbenchError("the resource s3-object needs moto: install lockbench[s3]")
        with child_process("bench.hazards.resources.moto_process", _MOTO_READS) as port:
            stage = client(port)
            try:
                stage.create_bucket(Bucket=BUCKET)
            except (ClientError, *_FAILED) as failed:
                raise LockbenchError(f"the S3 server at port {port} makes no bucket: {failed}") from failed
            finally:
                stage.close()
            yield {"port": port}


def client(port: int) -> "S3Client":
    """A client of the private server; no request is repeated."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=ANSWER_WITHIN_S,
        read_timeout=ANSWER_WITHIN_S,
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
    )
    made_up = ("lockbench", "lockbench")  # plain HTTP to ourselves must not carry the user's own
    made: S3Client = aws.client("s3", f"http://127.0.0.1:{port}", "us-east-1", made_up, True, config)
    return made


def _name(key: str) -> str:
    """Keys may be longer than an object's name."""
    return hashlib.sha256(key.encode()).hexdigest()


def _code(refused: ClientError) -> str:
    return str(refused.response.get("Error", {}).get("Code", ""))
