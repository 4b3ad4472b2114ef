"""Tags of a table: TagResource, UntagResource, ListTagsOfResource."""

from collections.abc import Iterable, Mapping
from typing import Any

from keyheat.endpoint.errors import ServiceError, resource_not_found, validation_error
from keyheat.endpoint.service import Service
from keyheat.endpoint.tables.catalog import Table
from keyheat.endpoint.tables.keyschema import invalid
from keyheat.model import limits

PAGE = 10


def parse_tags(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Value by key. Raises ValidationException when a key comes twice or there are too many."""
    parsed: dict[str, str] = {}
    for tag in tags:
        if tag["Key"] in parsed:
            raise invalid(f"Duplicate tag key: {tag['Key']}")
        parsed[tag["Key"]] = tag["Value"]
    _check_count(parsed)
    return parsed


def tag_resource(service: Service, request: dict[str, Any]) -> bytes:
    """TagResource: adds tags, or replaces the values of those there are."""
    table = _tagged(service, request["ResourceArn"])
    tags = table.tags | parse_tags(request["Tags"])
    _check_count(tags)
    table.tags = tags
    return b""


def untag_resource(service: Service, request: dict[str, Any]) -> bytes:
    """UntagResource: takes tags away; a key that is not there is none the worse."""
    table = _tagged(service, request["ResourceArn"])
    for key in request["TagKeys"]:
        table.tags.pop(key, None)
    return b""


def list_tags(service: Service, request: dict[str, Any]) -> dict[str, Any]:
    """ListTagsOfResource, ten to a page; NextToken is the last key shown."""
    table = _tagged(service, request["ResourceArn"])
    after = request.get("NextToken") or ""
    keys = [key for key in sorted(table.tags) if key > after]
    body: dict[str, Any] = {"Tags": [{"Key": key, "Value": table.tags[key]} for key in keys[:PAGE]]}
    if len(keys) > PAGE:
        body["NextToken"] = keys[PAGE - 1]
    return body


def _tagged(service: Service, arn: str) -> Table:
    if not arn.startswith("arn:"):
        raise validation_error(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    try:
        return service.catalog.find(arn)
    except ServiceError as error:
        raise resource_not_found(f"Requested resource not found: ResourcArn: {arn} not found") from error


def _check_count(tags: Mapping[str, str]) -> None:
    if len(tags) > limits.TAGS_PER_RESOURCE:
        raise validation_error(f"Too many tags: a resource can have at most {limits.TAGS_PER_RESOURCE} tags")
