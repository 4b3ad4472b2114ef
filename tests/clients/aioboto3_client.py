"""aioboto3's client."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import aioboto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError
from lowlevel import Body, LowLevel, Refused
from told import SLOW_URL, URL, WHERE, tell


class Aioboto3:
    """`await client.put_item(...)`, paginators and waiters, each waited for."""

    def __init__(self, runner: asyncio.Runner, client: Any) -> None:
        self.runner, self.client = runner, client

    def call(self, operation: str, **request: Any) -> Body:
        async def called() -> Body:
            return dict(await getattr(self.client, xform_name(operation))(**request))

        try:
            return self.runner.run(called())
        except ClientError as error:
            answer = {"message": error.response["Error"]["Message"], **error.response}
            raise Refused(f"`{type(error).__name__}`", error.response["Error"]["Code"], answer) from error

    def pages(self, operation: str, page: int, **request: Any) -> list[Body]:
        async def read() -> list[Body]:
            pages = self.client.get_paginator(xform_name(operation)).paginate(
                **request, PaginationConfig={"PageSize": page}
            )
            return [item async for one in pages for item in one["Items"]]

        return self.runner.run(read())

    def wait(self, until: str, table: str) -> None:
        async def waited() -> None:
            await self.client.get_waiter(until).wait(TableName=table)

        self.runner.run(waited())


def main() -> None:
    session, opened = aioboto3.Session(), AsyncExitStack()

    async def client(url: str, service: str = "dynamodb", *, again: bool = False) -> Any:
        config = None if again else Config(retries={"total_max_attempts": 1})
        made = session.client(service, endpoint_url=url, config=config, **WHERE)
        return await opened.enter_async_context(made)

    with asyncio.Runner() as runner:
        fast, once, again, streams = (
            Aioboto3(runner, runner.run(one))
            for one in (
                client(URL), client(SLOW_URL), client(SLOW_URL, again=True), client(URL, "dynamodbstreams"),
            )
        )  # fmt: skip
        checks = LowLevel("aioboto3", fast, once, again, streams)
        tell("aioboto3", "botocore", checks=checks.checks(), lacks={})
        runner.run(opened.aclose())


if __name__ == "__main__":
    main()
