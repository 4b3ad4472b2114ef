"""Where requests go: an address, a region, credentials, and whom TLS trusts."""

import os
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.addresses import Resolve, addresses_of, in_aws, on_this_machine, region_of, without_account
from keyheat.load.transport.answer import NoCredentials
from keyheat.load.transport.signer import AccessKeys
from keyheat.masking import mask_logs

if TYPE_CHECKING:
    from botocore.loaders import Loader
    from botocore.session import Session

NAMED_BY = "AWS_CA_BUNDLE, ca_bundle of the profile, or REQUESTS_CA_BUNDLE"


def sdk() -> "Session":
    """Load the SDK with the user's configuration, imported late: a simulation does not need it.

    What it knows of AWS's services is read once in a process: a load makes five clients.
    """
    from botocore.session import get_session

    session = get_session()
    session.register_component("data_loader", _services(session.get_config_variable("data_path")))
    return session


@cache
def _services(path: str | None) -> "Loader":
    from botocore.loaders import create_loader

    return create_loader(path)


class TargetError(ValueError):
    """The target cannot be used; the text is for the person who named it."""


@contextmanager
def _configured(what: str = "configuration") -> Iterator[None]:
    """Errors of the user's AWS configuration are a `TargetError`."""
    try:
        yield
    except BotoCoreError as error:
        raise TargetError(f"the AWS {what} cannot be used: {error}") from error


def ca_bundle() -> str | None:
    """The file of trusted authorities that the configuration names; None: the usual ones.

    Raises `TargetError` where it cannot be used, an empty name included: it could be taken for trust in all.
    """
    with _configured():
        named = sdk().get_config_variable("ca_bundle")
    path = os.environ.get("REQUESTS_CA_BUNDLE") if named is None else str(named)
    if path is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:
        why = f"no certificates of authorities can be read from {path!r} ({NAMED_BY}): {error}"
        raise TargetError(f"{why}; name a PEM file, or unset it to trust the usual ones") from error
    return path


LOCAL_REGION = "us-east-1"
LOCAL_KEYS = AccessKeys("keyheat", "keyheat")
IN_FILES = ("env", "shared-credentials-file", "config-file")
"""Where botocore finds keys without asking anybody for them."""
OF_AN_ACCOUNT = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{12,}")
"""Access keys that AWS gave out; a local endpoint takes any, so that these can stay where they are.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"""


@dataclass(frozen=True, slots=True)
class Target:
    """One DynamoDB endpoint."""

    url: str
    host: str
    port: int
    tls: bool
    region: str
    local: bool = False
    """On this machine: no credentials are needed, and no proxy stands between.

    Found out once, since what a name resolves to may change.
    """

    @property
    def aws(self) -> bool:
        return in_aws(self.host)

    @property
    def host_header(self) -> str:
        """The Host header: the port only where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def target_at(url: str, *, region: str | None = None, resolve: Resolve = addresses_of) -> Target:
    """The target at an endpoint's URL. Raises `TargetError`.

    The endpoint of an account names the account; the Region's own is the same service.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetError(f"{url!r} is not an endpoint's URL: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise TargetError("a target's URL holds no user and no password: the AWS configuration does")
    if parts.hostname and (host := without_account(parts.hostname)) != parts.hostname:
        return target_at(f"{parts.scheme}://{host}", region=region, resolve=resolve)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TargetError(f"{url!r} is not an endpoint's URL such as http://127.0.0.1:8000")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise TargetError(f"{url!r} has a path; an endpoint's URL is only scheme, host and port")
    tls = parts.scheme == "https"
    if tls:
        ca_bundle()
    named = region_of(parts.hostname)
    if named and not tls:
        raise TargetError(f"{url} would send signed requests over plain HTTP: say https://{parts.hostname}")
    region = region or named or _configured_region() or LOCAL_REGION
    here = on_this_machine(parts.hostname, resolve)
    return Target(url.rstrip("/"), parts.hostname, port or (443 if tls else 80), tls, region, here)


def aws_target() -> Target:
    """DynamoDB in the region that the AWS configuration names. Raises `TargetError`."""
    region = _configured_region()
    if not region:
        raise TargetError("no AWS region is set: set AWS_REGION, or a region in the profile")
    with _configured():
        url = sdk().create_client("dynamodb", region_name=region).meta.endpoint_url
    return target_at(url, region=region)


def _configured_region() -> str | None:
    with _configured():
        region = sdk().get_config_variable("region")
    return os.environ.get("AWS_REGION") or region  # botocore itself reads AWS_DEFAULT_REGION only


def credentials_for(target: Target, session: "Session | None" = None) -> Callable[[], AccessKeys]:
    """How to get the present keys: botocore finds and refreshes them (environment, profiles, SSO, roles).

    A local endpoint takes any keys: made-up ones, those in the configuration where they are made up as well
    (DynamoDB Local keeps a database for each), and never those of an account. Raises `TargetError` if
    another target has no usable keys.
    """
    mask_logs()  # what is asked for them, and answered, is in the SDK's log
    providers = (session or sdk()).get_component("credential_provider")
    if target.local:
        for provider in list(providers.providers):
            if provider.METHOD not in IN_FILES:
                providers.remove(provider.METHOD)
    with _configured("credentials"):
        credentials = providers.load_credentials()
        if credentials is not None:
            credentials.get_frozen_credentials()
    if target.local and (
        credentials is None or credentials.token or OF_AN_ACCOUNT.fullmatch(credentials.access_key)
    ):
        return lambda: LOCAL_KEYS
    if credentials is None:
        raise TargetError(f"no AWS credentials found for {target.url}: set AWS_PROFILE, or log in")

    def present() -> AccessKeys:
        try:
            keys = credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError, RuntimeError) as error:  # they had to be refreshed, and could not
            raise NoCredentials(str(error)) from error
        return AccessKeys(keys.access_key, keys.secret_key, keys.token)

    return present


def check_no_proxy(target: Target) -> None:
    """Raise `TargetError` if the environment names a proxy for the target: only the SDK uses one."""
    from botocore.utils import get_environ_proxies

    scheme = "https" if target.tls else "http"
    if not target.local and get_environ_proxies(target.url).get(scheme):
        raise TargetError(
            f"{scheme.upper()}_PROXY names a proxy for {target.host}, which only --transport boto3 uses: add "
            "that option, or name the host in NO_PROXY"
        )
