"""What a table is defined as: its keys, its capacity and its settings, from CreateTable onwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyheat.endpoint.errors import validation_error
from keyheat.endpoint.schema import TableSchema
from keyheat.endpoint.tables.keyschema import table_schema
from keyheat.endpoint.tables.throughput import table_capacity
from keyheat.model.resources import TableCapacity

NOT_HERE = (
    "GlobalTableSettingsReplicationMode",
    "GlobalTableSourceArn",
    "GlobalTableWitnessUpdates",
    "MultiRegionConsistency",
    "ReplicaUpdates",
    "ResourcePolicy",
    "VectorIndexes",
    "VectorIndexUpdates",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the local table keeps and shows, though nothing about throttling follows from it."""

    deletion_protection: bool = False
    table_class: str | None = None
    encrypted_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    """What CreateTable states and UpdateTable changes."""

    schema: TableSchema
    capacity: TableCapacity
    settings: Settings = Settings()


def define(request: Mapping[str, Any]) -> TableDefinition:
    """The definition in a CreateTable request. Raises ValidationException or LimitExceededException."""
    refuse_what_is_not_here(request)
    schema = table_schema(request)
    return TableDefinition(
        schema=schema, capacity=table_capacity(request, schema), settings=settings(request, Settings())
    )


def refuse_what_is_not_here(request: Mapping[str, Any]) -> None:
    """Raises ValidationException where a request asks for something that the local table cannot be."""
    for member in NOT_HERE:
        if request.get(member) is not None:
            raise validation_error(f"The local endpoint does not support {member}")


def settings(request: Mapping[str, Any], before: Settings) -> Settings:
    """The settings after a CreateTable or UpdateTable request that may name some of them."""
    protect = request.get("DeletionProtectionEnabled")
    encryption = request.get("SSESpecification")
    return Settings(
        deletion_protection=before.deletion_protection if protect is None else protect,
        table_class=request.get("TableClass") or before.table_class,
        encrypted_by=before.encrypted_by if encryption is None else _encrypted_by(encryption),
    )


def _encrypted_by(encryption: Mapping[str, Any]) -> str | None:
    return encryption.get("KMSMasterKeyId", "alias/aws/dynamodb") if encryption.get("Enabled") else None
