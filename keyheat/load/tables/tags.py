"""The tags by which a table says which run made it, for whom, and until when: even after that run crashed.

They are part of CreateTable, so that there is no moment in which the table is there without them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
"""

import getpass
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

RUN, OWNER, EXPIRES = "keyheat", "keyheat-owner", "keyheat-expires"
LONGEST_VALUE = 256
NOT_IN_A_VALUE = re.compile(r"[^\w .:/=+@-]")
"""https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html"""


def tags_for(run_id: str, *, owner: str, expires: datetime) -> list[dict[str, str]]:
    """The tags of a table that a run makes, as CreateTable takes them."""
    values = {RUN: run_id, OWNER: as_value(owner), EXPIRES: as_text(expires)}
    return [{"Key": key, "Value": value} for key, value in values.items()]


def tags_of(client: Any, arn: str) -> dict[str, str]:
    """The tags of a table, all pages of them."""
    pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    tags = (tag for page in pages for tag in page.get("Tags") or ())
    return {str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in tags}


def expiry_of(tags: Mapping[str, str]) -> datetime | None:
    """When the table may be swept away; None where it does not say. Raises `ValueError` for no time."""
    text = tags.get(EXPIRES)
    return None if text is None else moment_of(text)


def moment_of(text: str) -> datetime:
    """A moment in UTC as a tag says it, whoever wrote that. Raises `ValueError` for no time."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the first hour of the year 1 is before it in UTC
        raise ValueError(f"{text!r} is no time") from error
    raise ValueError(f"{text!r} does not say in which time zone")


def as_text(moment: datetime) -> str:
    """A moment as the tag says it, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def user_name() -> str:
    """Who runs this, as the operating system says it; nothing of an AWS identity."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        return "unknown"


def as_value(text: str) -> str:
    """Text with nothing in it that the value of a tag cannot have."""
    return NOT_IN_A_VALUE.sub("_", text)[:LONGEST_VALUE] or "unknown"
