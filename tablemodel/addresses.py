"""Whose machine a host name is of: this one, or one of AWS."""

import ipaddress
from typing import Final

OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
"""Where the services of AWS are: https://docs.aws.amazon.com/general/latest/gr/rande.html"""


def on_this_machine(host: str) -> bool:
    """Whether it is loopback: nothing there costs anything, and no credentials are needed."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_aws(host: str) -> bool:
    """Whether it is AWS itself, where each service has an address of its own."""
    return host.endswith(OF_AWS)
