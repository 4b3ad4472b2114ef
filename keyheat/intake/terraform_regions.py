"""The Regions of a table in `terraform show -json`, with replicas that are resources of their own."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyheat.runs.table_facts import region_of_arn

REPLICA: Final = "aws_dynamodb_table_replica"
ADD: Final = "add its Region to regions under [table], since each write is copied there and billed"


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica that is a resource of its own, with what the file says of its table and Region."""

    address: str
    region: str | None
    table_arn: str | None  # None: known only after apply
    referred: frozenset[str]  # addresses in the configuration of what it refers to

    def is_of(self, table: str | None, address: str) -> bool:
        """Whether it copies the table with this name and address."""
        if self.table_arn is not None:
            return self.table_arn.rpartition("/")[2] == table
        return _without_keys(address) in self.referred


@dataclass(frozen=True, slots=True)
class Regions:
    """Where the resources of a file are, by the resources themselves and the configuration of a plan."""

    replicas: tuple[Replica, ...]
    by_address: Mapping[str, str]  # of the provider, where a plan tells it

    @classmethod
    def of(cls, raw: Mapping[str, Any], resources: Iterable[Mapping[str, Any]]) -> "Regions":
        """Read the Regions of all resources."""
        configured = dict(_configured(raw))
        by_address = dict(_by_provider(raw, configured))
        replicas = []
        for resource in (resource for resource in resources if resource.get("type") == REPLICA):
            address, values = str(resource.get("address")), resource.get("values") or {}
            place = _without_keys(address)
            arn = (configured.get(place, {}).get("expressions") or {}).get("global_table_arn") or {}
            region = values.get("region") or region_of_arn(values.get("arn") or "") or by_address.get(place)
            module = place.rpartition(f"{REPLICA}.")[0]
            referred = frozenset(f"{module}{name}" for name in arn.get("references") or ())
            replicas.append(Replica(address, region, values.get("global_table_arn"), referred))
        return cls(tuple(replicas), by_address)

    def replicas_of(self, table: str | None, address: str) -> list[Replica]:
        """The separate replicas of a table."""
        return [replica for replica in self.replicas if replica.is_of(table, address)]

    def arn_of(self, values: Mapping[str, Any], address: str) -> str | None:
        """A table's ARN: its own, that which a replica names, or one with the Region alone."""
        table = values.get("name")
        named = (replica.table_arn for replica in self.replicas_of(table, address))
        if arn := values.get("arn") or next(filter(None, named), None):
            return str(arn)
        region = values.get("region") or self.by_address.get(_without_keys(address))
        return f"arn:aws:dynamodb:{region}:000000000000:table/{table}" if region else None


def list_without_region(replicas: Iterable[Replica]) -> Iterator[str]:
    """What is lost of a table's replicas whose Region the file does not tell."""
    for replica in replicas:
        if replica.region is None:
            yield f"{replica.address}, a replica in a Region that this file does not tell: {ADD}"


def _without_keys(address: str) -> str:
    """An address as the configuration has it: without the keys of count and for_each."""
    return re.sub(r"\[[^]]*\]", "", address)


def _configured(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each resource of a plan's configuration, by its address."""
    yield from _of_module((raw.get("configuration") or {}).get("root_module") or {}, "")


def _of_module(module: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for resource in module.get("resources") or ():
        yield f"{prefix}{resource.get('address')}", resource
    for name, call in (module.get("module_calls") or {}).items():
        yield from _of_module(call.get("module") or {}, f"{prefix}module.{name}.")


def _by_provider(
    raw: Mapping[str, Any], configured: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """The Region of each resource's provider, where it is a constant or a variable of the root module."""
    providers = (raw.get("configuration") or {}).get("provider_config") or {}
    variables = raw.get("variables") or {}
    for address, resource in configured.items():
        provider = providers.get(resource.get("provider_config_key")) or {}
        region = (provider.get("expressions") or {}).get("region") or {}
        value = region.get("constant_value")
        for name in () if provider.get("module_address") else region.get("references") or ():
            value = value or (variables.get(name.removeprefix("var.")) or {}).get("value")
        if value:
            yield address, str(value)
