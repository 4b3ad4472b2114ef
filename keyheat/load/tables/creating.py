"""CreateTable: held against the service's rules before it is sent; its refusals say what to do."""

from collections.abc import Sequence
from typing import Any

from botocore.exceptions import ClientError

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.tables.catalog import define
from keyheat.load.tables.creation import creation
from keyheat.load.tables.errors import TableError
from keyheat.load.tables.ownership import DENIED
from keyheat.scenario.spec.tables import TableSpec

Tags = Sequence[dict[str, str]]


def mistake(spec: TableSpec) -> str | None:
    """Why DynamoDB would not make the table, by the rules that the local endpoint knows, too."""
    request = creation(spec)
    try:
        check_shape("CreateTable", request)
        define(request)
    except ServiceError as error:
        return f"cannot be made as the scenario describes it: {error.message}"
    return None


def create(client: Any, spec: TableSpec, tags: Tags) -> bool:
    """Ask for the table, with its tags; False where there is one of that name by now. Raises `TableError`."""
    try:
        client.create_table(**creation(spec), Tags=list(tags))
    except client.exceptions.ResourceInUseException:
        return False
    except ClientError as error:
        raise TableError(f"table {spec.name} was not made: {_what_to_do(error)}") from error
    return True


def _what_to_do(error: ClientError) -> str:
    said = error.response["Error"]
    if said["Code"] in DENIED:
        return (
            "a permission is missing, dynamodb:CreateTable or dynamodb:TagResource, which its tags need "
            f"({said.get('Message')})"
        )
    if said["Code"] == "LimitExceededException":
        return (
            f"{said.get('Message')}: wait until other tables are made or deleted, delete some, or have the "
            "quota raised (Service Quotas, DynamoDB)"
        )
    return f"{error}"
