"""Whose machine a host name is of: this one, or one of AWS."""

import ipaddress
import re
from typing import Final

OF_AWS: Final = (
    *(".amazonaws.com", ".api.aws"),
    *(".amazonaws.com.cn", ".api.amazonwebservices.com.cn"),
    *(".amazonaws.eu", ".api.amazonwebservices.eu"),
    *(".c2s.ic.gov", ".api.aws.ic.gov"),
    *(".sc2s.sgov.gov", ".api.aws.scloud"),
    *(".cloud.adc-e.uk", ".api.cloud-aws.adc-e.uk"),
    *(".csp.hci.ic.gov", ".api.aws.hci.ic.gov"),
)
"""Where the services of AWS are, in each of its partitions, over IPv4 alone and over both: as botocore's
`partitions.json` has them. https://docs.aws.amazon.com/general/latest/gr/rande.html"""
DYNAMODB: Final = re.compile(r"(?:[a-z0-9-]+\.)?dynamodb(?:-fips)?\.([a-z0-9-]+)\..+")
"""DynamoDB's hosts, those of interface endpoints as well: https://docs.aws.amazon.com/general/latest/gr/ddb.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/privatelink-interface-endpoints.html"""
OF_ACCOUNT: Final = re.compile(r"\d{12}\.ddb\.([a-z0-9-]+)\.(.+)")
"""Hosts of one account: https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html"""


def on_this_machine(host: str) -> bool:
    """Whether it is loopback: nothing there costs anything, and no credentials are needed."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_aws(host: str) -> bool:
    """Whether it is DynamoDB in AWS itself, where each service has an address of its own.

    A machine that somebody rents there has such a name, too, and may serve anything.
    """
    return region_of(host) is not None


def region_of(host: str) -> str | None:
    """The Region that a host of DynamoDB in AWS is of; None for any other host."""
    found = DYNAMODB.fullmatch(host) or OF_ACCOUNT.fullmatch(host)
    return found[1] if found and host.endswith(OF_AWS) else None


def without_account(host: str) -> str:
    """The Region's own host in place of one that names the account; the service is the same."""
    found = OF_ACCOUNT.fullmatch(host)
    return f"dynamodb.{found[1]}.{found[2]}" if found and in_aws(host) else host
