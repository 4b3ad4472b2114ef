"""The client of an application: whose retries a load, a simulation and a comparison of policies make."""

from collections.abc import Iterator
from typing import Annotated, get_args

from pydantic import Field

from keyheat.model.retries import Mode, RetryPolicy, Sdk, modes_of, policy_of
from keyheat.scenario.spec.part import ScenarioPart


class ClientSpec(ScenarioPart):
    """How the application's SDK retries throttles and errors: how often, after which pause.

    Without it every request is sent once, so that no throttle is hidden.
    """

    sdk: Sdk = Field("none", description="SDK whose published retry policy applies; none: no retries")
    mode: Mode | None = Field(None, description="absent: the SDK's default")
    attempts: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="per request, the first one included; absent: the SDK's default"
    )
    quota_tokens: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="retry tokens of one client; 0: no quota; absent: the SDK's default"
    )
    clients: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1,
        description="SDK clients that share the load, usually processes, each with its own retry quota; "
        "each worker has at least one",
    )

    @property
    def policy(self) -> RetryPolicy:
        """What becomes of a throttled request."""
        return policy_of(self.sdk, mode=self.mode, attempts=self.attempts, quota_tokens=self.quota_tokens)

    @property
    def retries(self) -> RetryPolicy | None:
        """The policy, if it sends any request again."""
        return self.policy if self.policy.attempts > 1 else None


def broken_client(client: ClientSpec) -> Iterator[str]:
    """Every disagreement within `[client]`, as `message @ $.path`."""
    if client.sdk == "none":
        for name in ("mode", "attempts", "quota_tokens"):
            if getattr(client, name) is not None:
                yield f"whose {name} is that? say which sdk @ $.client.{name}"
    elif client.sdk not in get_args(Sdk) or client.mode not in (None, *get_args(Mode)):
        return
    elif client.mode is not None and client.mode not in modes_of(client.sdk):
        modes = ", ".join(modes_of(client.sdk))
        yield f"{client.sdk} has no mode {client.mode!r}; it has {modes} @ $.client.mode"
    elif client.quota_tokens is not None and not policy_of(client.sdk, mode=client.mode).quota_tokens > 0:
        yield f"{client.sdk} has no retry quota in legacy mode @ $.client.quota_tokens"
