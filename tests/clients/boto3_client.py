"""boto3's client."""

from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError
from lowlevel import Body, LowLevel, Refused
from told import SLOW_URL, URL, WHERE, tell


class Boto3:
    """`client.put_item(...)`, paginators and waiters."""

    def __init__(self, url: str, service: str = "dynamodb", *, again: bool = False) -> None:
        config = None if again else Config(retries={"total_max_attempts": 1})
        self.client = boto3.client(service, endpoint_url=url, config=config, **WHERE)

    def call(self, operation: str, **request: Any) -> Body:
        try:
            return dict(getattr(self.client, xform_name(operation))(**request))
        except ClientError as error:
            raise refused(error) from error

    def pages(self, operation: str, page: int, **request: Any) -> list[Body]:
        pages = self.client.get_paginator(xform_name(operation)).paginate(
            **request, PaginationConfig={"PageSize": page}
        )
        return [item for one in pages for item in one["Items"]]

    def wait(self, until: str, table: str) -> None:
        self.client.get_waiter(until).wait(TableName=table)


def refused(error: ClientError) -> Refused:
    answer = {"message": error.response["Error"]["Message"], **error.response}
    return Refused(f"`{type(error).__name__}`", error.response["Error"]["Code"], answer)


if __name__ == "__main__":
    checks = LowLevel(
        "boto3", Boto3(URL), Boto3(SLOW_URL), Boto3(SLOW_URL, again=True), Boto3(URL, "dynamodbstreams")
    )
    tell("boto3", "botocore", checks=checks.checks(), lacks={})
