"""Nothing that is set around lockbench changes what is sent to the DynamoDB API or to an S3 API, or stops it.

The list of variables is botocore's own: what its tables name, and every name in its source that looks like one.
"""

import re
import sys
import types
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore.configprovider import (
    BOTOCORE_DEFAUT_SESSION_VARIABLES,
    DEFAULT_PROXIES_CONFIG_VARS,
    DEFAULT_S3_CONFIG_VARS,
)
from botocore.exceptions import ClientError

from bench.hazards.resources import s3_object
from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import endpoint_from_url
from bench.systems.dynamodb.calls import shared_client
from bench.systems.dynamodb.server import DynamoDBServers
from tests.unit.test_dynamodb_calls import read, replying, serving

NAMED_IN_TABLES = {
    name
    for table in (BOTOCORE_DEFAUT_SESSION_VARIABLES, DEFAULT_S3_CONFIG_VARS, DEFAULT_PROXIES_CONFIG_VARS)
    for _, named, _, _ in table.values()
    for name in ([named] if isinstance(named, str) else named or [])
}
IN_SOURCE = {
    name
    for path in Path(botocore.__file__).parent.glob("*.py")
    for name in re.findall(r"['\"](_?(?:AWS|BOTO|X_AMZN)[A-Z0-9]*_[A-Z0-9_]+)['\"]", path.read_text())
}
# Put together from a service's name (ConfiguredEndpointProvider, get_token_from_environment), or of urllib and Python.
OTHERS = {
    "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_BEARER_TOKEN_DYNAMODB",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "BOTO_CONFIG", "AWS_SECURITY_TOKEN",
    "AWS_REGION", "_X_AMZN_TRACE_ID", "AWS_LAMBDA_FUNCTION_NAME",
}  # fmt: skip
VARIABLES = sorted(NAMED_IN_TABLES | IN_SOURCE | OTHERS)
# As a place, a file, a profile, a number or a mode: none of which there is. And as a switch: on.
VALUES = ("http://127.0.0.1:9/nonesuch", "true")


def test_the_list_has_what_botocore_documents() -> None:
    assert {
        "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_DEFAULT_REGION", "AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS",
        "AWS_ACCOUNT_ID_ENDPOINT_MODE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_DEFAULTS_MODE",
        "AWS_STS_REGIONAL_ENDPOINTS", "AWS_DISABLE_REQUEST_COMPRESSION", "AWS_SIGV4A_SIGNING_REGION_SET",
        "AWS_EC2_METADATA_DISABLED", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "BOTOCORE_EXPERIMENTAL__PLUGINS", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_DATA_PATH",
    } <= set(VARIABLES)  # fmt: skip


def sent() -> list[bytes]:
    """What a lock's client and a resource's client send, without what is another each time."""
    with serving(replying("200 OK", {})) as (endpoint, of_lock):
        read(endpoint)
    with serving(replying("200 OK", {})) as (endpoint, of_resource), suppress(ClientError):  # S3 would answer in XML
        s3_object.client(endpoint.addresses[0][1]).create_bucket(Bucket="bucket")
    changing = rb"(?i)^(host|x-amz-date|amz-sdk-invocation-id):.*|/\d{8}(?=/)|Signature=.*"
    lines = [re.sub(changing, b"", line) for request in of_lock + of_resource for line in request.split(b"\r\n")]
    return [line for line in lines if line]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What is sent where nothing is set."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        lines = sent()
    assert [b"Credential=lockbench/us-east-1/" in line for line in lines].count(True) == 2
    return lines


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_changes_nothing(
    name: str, value: str, plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(name, value)
    assert sent() == plain


def test_all_variables_at_once_change_nothing(plain: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, VALUES[0])
    assert sent() == plain


def test_a_plugin_is_not_imported(plain: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    plugin: Any = types.ModuleType("a_plugin_of_the_surroundings")
    plugin.initialize_client_plugin = called.append
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    monkeypatch.setenv("BOTOCORE_EXPERIMENTAL__PLUGINS", f"ours={plugin.__name__}")
    assert sent() == plain
    assert called == []


FILES = {
    "no section": b"region = nowhere\n",
    "half a section": b"[default\nthis is = = not\n",
    "not UTF-8": b"[default]\nregion = \xff\xfe\n",
    "nothing but zeros": bytes(64),
    "a section twice": b"[default]\n[default]\n",
    "another place and way": (
        b"[default]\nendpoint_url = http://127.0.0.1:9\nservices = s\nretry_mode = bogus\ndefaults_mode = bogus\n"
        b"max_attempts = many\nca_bundle = /nonesuch\nregion = nowhere\nuse_fips_endpoint = true\n"
        b"request_checksum_calculation = bogus\nparameter_validation = true\ntcp_keepalive = false\n"
        b"s3 =\n  addressing_style = virtual\n[services s]\ndynamodb =\n  endpoint_url = http://127.0.0.1:9\n"
    ),
    "other credentials": b"[default]\naws_access_key_id = AKIDREAL\naws_secret_access_key = real\n",
    "a program for credentials": b"[default]\ncredential_process = /bin/false\nrole_arn = arn:x\nsource_profile = y\n",
}
PLACES = ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "BOTO_CONFIG", ".aws/config", ".aws/credentials", ".boto")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("content", FILES)
def test_a_file_changes_nothing(
    place: str, content: str, plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lay(place, FILES[content], monkeypatch, tmp_path)
    assert sent() == plain


def test_a_model_of_the_users_changes_nothing(
    plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for service, version in (("dynamodb", "2012-08-10"), ("s3", "2006-03-01")):
        models = tmp_path / ".aws" / "models" / service / version
        models.mkdir(parents=True)
        (models / "service-2.json").write_text("{}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path / ".aws" / "models"))
    assert sent() == plain


def lay(place: str, content: bytes, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    path = home / (place if place.startswith(".") else "file")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    monkeypatch.setenv("HOME", str(home))
    if not place.startswith("."):
        monkeypatch.setenv(place, str(path))


def own(url: str, **secrets: str) -> Endpoint:
    named = {f"LOCKBENCH_DYNAMODB_{name}": value for name, value in secrets.items()}
    return endpoint_from_url("dynamodb", url, DynamoDBServers.url_rules, named)


@pytest.mark.parametrize("content", [name for name in FILES if name != "other credentials"])
def test_a_profile_that_is_of_no_use_is_one_message(
    content: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    lay("AWS_CONFIG_FILE", FILES[content], monkeypatch, tmp_path)
    with pytest.raises(ConnectionError, match="AWS profile"):
        shared_client(own("https://h:1?profile=default"), 1_000)._get_credentials()  # type: ignore[attr-defined]


def test_a_profile_that_is_named_gives_its_credentials_and_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lay(".aws/credentials", FILES["other credentials"], monkeypatch, tmp_path)
    (tmp_path / ".aws" / "config").write_bytes(FILES["another place and way"])
    made = shared_client(own("https://h:1?profile=default&region=eu-west-1"), 1_000)
    assert made.meta.endpoint_url == "https://h:1"
    assert made.meta.region_name == "eu-west-1"
    assert made._request_signer._credentials.access_key == "AKIDREAL"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("https://h:1", {}),
        ("https://h:1", {"USER": "AKID"}),
        ("https://h:1", {"PASSWORD": "hunter2"}),
        ("http://h:1", {"USER": "AKID"}),
        ("http://h:1", {"PASSWORD": "hunter2"}),
        ("http://h:1?profile=p", {}),
        ("https://h:1?profile=p", {"USER": "AKID", "PASSWORD": "hunter2"}),
        ("https://a_b:1", {"USER": "AKID", "PASSWORD": "hunter2"}),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_sent(
    url: str, secrets: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    with pytest.raises(ConnectionError) as told:
        shared_client(own(url, **secrets), 1_000)
    assert "hunter2" not in str(told.value)
