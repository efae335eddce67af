"""Clients of AWS's APIs that know only what they are given: no variable and no file around them reaches them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore import handlers
from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES, ConstantProvider
from botocore.exceptions import BotoCoreError
from botocore.loaders import Loader
from botocore.plugin import PluginContext, reset_plugin_context, set_plugin_context
from botocore.session import Session

from bench.servers.surroundings import unseen

# Everything that a botocore session looks up, at the value that it has where nothing is set. `s3` and `proxies_config`
# are sections of ~/.aws/config.
_UNSET = {name: default for name, (_, _, default, _) in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()} | {
    "config_file": os.devnull,
    "credentials_file": os.devnull,
    "s3": None,
    "proxies_config": None,
}


# The services' descriptions, read once a process. By default ~/.aws/models comes first, and changes what is sent.
_MODELS = Loader([Loader.BUILTIN_DATA_PATH], include_default_search_paths=False)


def client(
    service: str, url: str, region: str, credentials: tuple[str, str] | str, verify: str | bool, config: Config
) -> Any:
    """A client of `service` at `url`. `credentials`: a key's id and its secret, or a profile of the user's AWS files.

    Of a profile, the credentials are taken and nothing else. `verify` is the file with the authorities to believe, or
    True for those that botocore brings along. Raises ConnectionError where a profile gives no credentials.
    """
    session = Session()
    for name, value in _UNSET.items():
        session.get_component("config_store").set_config_provider(name, ConstantProvider(value))
    session.register_component("data_loader", _MODELS)
    in_lambda: Any = handlers.add_recursion_detection_header  # sends what a Lambda function's variables say
    session.unregister("before-call", in_lambda)
    key_id, secret = (None, None) if isinstance(credentials, str) else credentials
    if isinstance(credentials, str):
        session.register_component("credential_provider", _Found(credentials))
    # No proxy, and a user agent of our own: botocore's tells where it is run.
    fixed = Config(proxies={}, user_agent="lockbench")
    try:
        with _without_plugins(), unseen(("SSLKEYLOGFILE",)):  # a file to which TLS keys would be written
            return session.create_client(
                service,
                region_name=region,
                endpoint_url=url,
                verify=verify,
                aws_access_key_id=key_id,
                aws_secret_access_key=secret,
                config=config.merge(fixed),
            )
    except (BotoCoreError, ValueError) as failed:  # ValueError: an address that botocore does not take for one
        raise ConnectionError(f"{url}: {failed}") from failed


class _Found:
    """The credentials of a profile, found by botocore's own rules, and renewed by them."""

    def __init__(self, profile: str) -> None:
        try:
            self._credentials = Session(profile=profile).get_credentials()
        except BotoCoreError as failed:
            raise ConnectionError(f"AWS profile {profile!r}: {failed}") from failed
        if self._credentials is None:
            raise ConnectionError(f"AWS profile {profile!r}: it gives no credentials")

    def load_credentials(self) -> Any:
        return self._credentials


@contextmanager
def _without_plugins() -> Iterator[None]:
    """BOTOCORE_EXPERIMENTAL__PLUGINS names modules that botocore would import."""
    token = set_plugin_context(PluginContext(plugins="DISABLED"))
    try:
        yield
    finally:
        reset_plugin_context(token)
