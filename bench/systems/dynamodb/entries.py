"""The rows of the DynamoDB API, which an emulator serves here."""

from functools import partial

from bench.systems.entry import DOTTED, Look, System

_dynamodb = partial(
    System,
    servers_path="bench.systems.dynamodb.server:DynamoDBServers",
    server_set="dynamodb",
    leftovers_path="bench.systems.dynamodb.leftovers:leftovers",
    default_wait="poll-20ms-j20",
    tags=("emulator",),
)

ENTRIES = (
    _dynamodb(
        name="dynamodb",
        title="DynamoDB API",
        client_path="bench.systems.dynamodb.lock:DynamoDBLock",
        look=Look("#56B4E9", "P", DOTTED, hollow=True),
        headline=True,
        client_cost_target_ms=3.0,
    ),
    _dynamodb(
        name="dynamodb-client-clock",
        title="DynamoDB API, client clock",
        client_path="bench.systems.dynamodb.client_clock:ClientClockDynamoDBLock",
    ),
)
