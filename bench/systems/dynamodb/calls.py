"""The DynamoDB API through boto3: one shared client a process, no retries, and three kinds of failure kept apart."""

import os
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)
from urllib3.exceptions import HTTPError

from bench.servers.endpoint import Endpoint
from bench.servers.tls import with_files
from bench.systems import aws

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_POOL = 256  # connections kept: at least one for each concurrent client of a process, or urllib3 would throw some away
_clients: dict[tuple[object, ...], "DynamoDBClient"] = {}
_making = threading.Lock()


class ConditionFailed(Exception):
    """The item is not as the write demanded; nothing was written. `item` is how it is, where the engine says so."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        super().__init__("the condition failed")
        self.item = item


class NotDone(Exception):
    """The request was refused, or never reached the service: it was not carried out, and will not be."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code  # the service's name for its refusal; empty where it was not reached


class NoAnswer(Exception):
    """The request was sent, and may have been carried out, or may yet be."""


def shared_client(endpoint: Endpoint, call_timeout_ms: int) -> "DynamoDBClient":
    """The process's client for an endpoint: making one costs some 100 ms of CPU, and its connections are pooled.

    Not shared across a fork, whose two sides would read each other's replies.
    """
    host, port = endpoint.addresses[0]
    scheme = "https" if endpoint.tls else "http"
    region = endpoint.options.get("region", "us-east-1")
    parts = (*sorted(endpoint.options.items()), *sorted(endpoint.secrets.items()))
    identity = (os.getpid(), scheme, host, port, call_timeout_ms, *parts)
    with _making:
        if identity not in _clients:
            with_files(endpoint)
            _clients[identity] = aws.client(
                "dynamodb",
                f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}",
                region,
                _credentials(endpoint),
                endpoint.secrets.get("tls_ca", True),
                _config(call_timeout_ms / 1000, endpoint.secrets),
            )
        return _clients[identity]


def _config(call_s: float, secrets: Mapping[str, str]) -> Config:
    return Config(
        # A retried write may meet its own first try, and call it another's: a lost reply is for the lock to judge.
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=call_s,
        read_timeout=call_s,
        max_pool_connections=_POOL,
        tcp_keepalive=True,
        client_cert=(secrets["tls_cert"], secrets["tls_key"]) if "tls_cert" in secrets else None,
        # What no lock call needs, and each would pay for.
        parameter_validation=False,
        inject_host_prefix=False,
        disable_request_compression=True,
        account_id_endpoint_mode="disabled",
    )


def _credentials(endpoint: Endpoint) -> tuple[str, str] | str:
    """As the user names them, else made up for an emulator. Raises ConnectionError where they must be named.

    Plain HTTP means an emulator: the real service is not reached that way, and real credentials must not be.
    """
    user, password = (endpoint.secrets.get(name) for name in ("user", "password"))
    profile = endpoint.options.get("profile")
    if user and password and not profile:
        return user, password
    if endpoint.tls and profile and not (user or password):
        return profile
    if not (endpoint.tls or profile or user or password):
        return "lockbench", "lockbench"
    raise ConnectionError(
        f"DynamoDB API at {endpoint}: set both LOCKBENCH_DYNAMODB_USER and _PASSWORD (an access key's id and secret), "
        "or name a profile of the AWS files: ?profile=NAME, with https:// alone. AWS_… variables are not looked at"
    )


def call(method: Callable[..., Any], **request: Any) -> Any:
    """One request, one try. Raises ConditionFailed, NotDone or NoAnswer."""
    try:
        return method(**request)
    except ClientError as error:
        answer = error.response
        code = answer.get("Error", {}).get("Code", "")
        if code == "ConditionalCheckFailedException":
            raise ConditionFailed(answer.get("Item")) from None  # type: ignore[arg-type]
        # The service's own failures (5xx) may strike after the write; its refusals (4xx, throttling among them) do not.
        if answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 500) >= 500:
            raise NoAnswer(str(error)) from error
        raise NotDone(str(error), code) from error
    except (EndpointConnectionError, ConnectTimeoutError) as error:
        raise NotDone(str(error)) from error
    except BotoCoreError as error:
        # botocore takes all that is raised while it sends for a failure of the connection. What is none, and comes out
        # of a signal handler of the program, is the caller's.
        cause = getattr(error, "kwargs", {}).get("error")
        if type(error) is HTTPClientError and not isinstance(cause, OSError | HTTPError | HTTPException):
            raise cause from None  # type: ignore[misc]
        raise NoAnswer(str(error)) from error
