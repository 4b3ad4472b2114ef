"""Where requests go is checked before anything is sent there."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from botocore.credentials import ReadOnlyCredentials

from keyheat.load.transport.boto import make_client
from keyheat.load.transport.signer import AccessKeys
from keyheat.load.transport.target import LOCAL_KEYS, TargetError, aws_target, credentials_for, target_at

pytestmark = pytest.mark.usefixtures("no_account")


@pytest.mark.parametrize(
    ("url", "local", "host_header", "region"),
    [
        ("http://127.0.0.1:8000", True, "127.0.0.1:8000", "us-east-1"),
        ("http://localhost:8000/", True, "localhost:8000", "us-east-1"),
        ("http://[::1]:8000", True, "[::1]:8000", "us-east-1"),
        ("http://0.0.0.0:8000", False, "0.0.0.0:8000", "us-east-1"),
        ("https://dynamodb.eu-west-1.amazonaws.com", False, "dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
        (
            *("https://123456789012.ddb.eu-west-1.amazonaws.com", False),  # an account's endpoint
            *("dynamodb.eu-west-1.amazonaws.com", "eu-west-1"),
        ),
        ("https://db.example:443", False, "db.example", "us-east-1"),
    ],
)
def test_targets(url: str, local: bool, host_header: str, region: str) -> None:
    target = target_at(url)
    assert (target.local, target.host_header, target.region) == (local, host_header, region)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("127.0.0.1:8000", "not an endpoint's URL"),
        ("ftp://127.0.0.1", "not an endpoint's URL"),
        ("http://127.0.0.1:99999", "not an endpoint's URL"),
        ("http://127.0.0.1:8000/path", "has a path"),
        ("http://me:secret@db.example", "no password"),
        ("http://dynamodb.eu-west-1.api.aws", "plain HTTP"),
        ("http://vpce-1a2b3c.dynamodb.eu-west-1.vpce.amazonaws.com", "plain HTTP"),
    ],
)
def test_what_is_not_a_target_or_would_give_something_away(url: str, problem: str) -> None:
    with pytest.raises(TargetError, match=problem) as caught:
        target_at(url)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "signs_with"),
    [
        (("AKIAIOSFODNN7EXAMPLE", "secret", None), "keyheat"),
        (("ASIAIOSFODNN7EXAMPLE", "secret", "token"), "keyheat"),
        (("made-up", "secret", "token"), "keyheat"),
        (("dummy", "dummy", None), "dummy"),  # DynamoDB Local keeps a database for each
    ],
)
def test_a_local_target_is_not_shown_the_keys_of_an_account(
    keys: tuple[str, str, str | None], signs_with: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"), keys, strict=True):
        if value is not None:
            monkeypatch.setenv(f"AWS_{name}", value)
    target = target_at("http://127.0.0.1:8000")
    assert credentials_for(target)().access_key == signs_with
    signer = make_client(target)._request_signer
    assert signer._credentials.access_key == signs_with


def test_a_local_target_asks_nobody_for_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"[profile work]\ncredential_process = touch {tmp_path}/asked\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert credentials_for(target_at("http://127.0.0.1:8000"))() == LOCAL_KEYS
    assert not (tmp_path / "asked").exists()


def test_aws_needs_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TargetError, match="no AWS region"):
        aws_target()
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert aws_target().url == "https://dynamodb.eu-north-1.amazonaws.com"
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(TargetError, match="nobody"):
        aws_target()


@pytest.mark.slow
@pytest.mark.parametrize("host", ["dynamodb.eu-west-1.amazonaws.com", "dynamodb.eu-west-1.api.aws"])
def test_in_aws_each_service_has_an_address_of_its_own(host: str) -> None:
    target = target_at(f"https://{host}")
    assert make_client(target).meta.endpoint_url == f"https://{host}"
    streams = make_client(target, service="dynamodbstreams")
    assert streams.meta.endpoint_url == "https://streams.dynamodb.eu-west-1.amazonaws.com"


def test_a_name_that_leads_elsewhere_is_not_this_machine() -> None:
    assert target_at("http://a.localhost:8000", resolve=lambda _host: ["127.0.0.1"]).local
    assert not target_at("http://a.localhost:8000", resolve=lambda _host: ["203.0.113.5"]).local


EUROPE = "https://dynamodb.eu-west-1.amazonaws.com"


def test_keys_of_an_account_are_those_that_the_sdk_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """It renews those of a container or a role ahead of time."""
    keys = (ReadOnlyCredentials(f"ASIA{number}", "secret", "token") for number in count())
    held = SimpleNamespace(get_frozen_credentials=lambda: next(keys))
    provider = SimpleNamespace(providers=[], load_credentials=lambda: held)
    session = SimpleNamespace(get_component=lambda _name: provider)
    present = credentials_for(target_at(EUROPE), session)  # type: ignore[arg-type]
    first, later = present(), present()
    assert (first.secret_key, first.token) == ("secret", "token")
    assert later.access_key != first.access_key


def test_a_profile_signs_and_whoever_is_not_logged_in_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match="set AWS_PROFILE, or log in"):
        credentials_for(target_at(EUROPE))
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = other\naws_secret_access_key = other\n"
        "[load]\naws_access_key_id = of-profile\naws_secret_access_key = secret\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "load")
    assert credentials_for(target_at(EUROPE))() == AccessKeys("of-profile", "secret")
