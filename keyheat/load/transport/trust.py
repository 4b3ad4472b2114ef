"""Whom TLS trusts: the authorities that botocore would. Certificates are always verified."""

import os
import ssl

import botocore.session
from botocore.exceptions import BotoCoreError

NAMED_BY = "AWS_CA_BUNDLE, ca_bundle of the profile, or REQUESTS_CA_BUNDLE"


class BundleError(ValueError):
    """The bundle of authorities cannot be used; the text is for the person who named it."""


def ca_bundle() -> str | None:
    """The file of trusted authorities that the configuration names; None: the usual ones.

    Raises `BundleError` where it cannot be used, an empty name included: it could be taken for trust in all.
    """
    try:
        named = botocore.session.get_session().get_config_variable("ca_bundle")
    except BotoCoreError as error:
        raise BundleError(f"the AWS configuration cannot be used: {error}") from error
    path = os.environ.get("REQUESTS_CA_BUNDLE") if named is None else str(named)
    if path is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:
        why = f"no certificates of authorities can be read from {path!r} ({NAMED_BY}): {error}"
        raise BundleError(f"{why}; name a PEM file, or unset it to trust the usual ones") from error
    return path
