"""The DynamoDB API through boto3: one shared client a process, no retries, and three kinds of failure told apart."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError

from bench.servers.endpoint import Endpoint

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
    identity = (os.getpid(), scheme, host, port, region, call_timeout_ms, *sorted(endpoint.secrets.items()))
    key_id, secret = _credentials(endpoint, local=scheme == "http")
    with _making:
        if identity not in _clients:
            _clients[identity] = boto3.client(
                "dynamodb",
                endpoint_url=f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}",
                region_name=region,
                verify=endpoint.secrets.get("tls_ca"),
                config=_config(call_timeout_ms / 1000, local=scheme == "http"),
                aws_access_key_id=key_id,
                aws_secret_access_key=secret,
            )
        return _clients[identity]


def _config(call_s: float, local: bool) -> Config:
    return Config(
        # A retried write may meet its own first try, and call it another's: a lost reply is for the lock to judge.
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=call_s,
        read_timeout=call_s,
        max_pool_connections=_POOL,
        tcp_keepalive=True,
        proxies={} if local else None,  # {}: none, whatever the environment says; None: as the environment says
        # What no lock call needs, and each would pay for.
        parameter_validation=False,
        inject_host_prefix=False,
        disable_request_compression=True,
        account_id_endpoint_mode="disabled",
    )


def _credentials(endpoint: Endpoint, local: bool) -> tuple[str, str] | tuple[None, None]:
    """Of the user, else made up for an emulator, else boto3's own search (environment, profile, instance).

    Plain HTTP means an emulator: the real service is not reached that way, and real credentials must not be.
    """
    secrets = endpoint.secrets
    if "user" in secrets and "password" in secrets:
        return secrets["user"], secrets["password"]
    return ("lockbench", "lockbench") if local else (None, None)


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
        raise NoAnswer(str(error)) from error
