"""Whatever botocore finds signs requests: a profile, and a service that renews what it gave.

The service is one on loopback, in the shape of a container's. It numbers the keys that it gives, so that a
renewal is seen; botocore renews ahead of time what ends soon.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keyheat.load.transport.signer import AccessKeys
from keyheat.load.transport.target import TargetError, credentials_for, target_at
from tests.load.scripted import HANG_UP, answered, serving

pytestmark = pytest.mark.opens

TARGET = target_at("https://dynamodb.eu-west-1.amazonaws.com")
SOON = timedelta(minutes=5)  # botocore renews what ends within ten minutes before it is used again


def ends() -> str:
    return f"{datetime.now(UTC) + SOON:%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture(autouse=True)
def home(no_account: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    return tmp_path


def test_a_container_gives_other_keys_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(number: int) -> bytes:
        own = {"AccessKeyId": f"container-{number}", "SecretAccessKey": "secret", "Token": "token"}
        return answered("200 OK", json.dumps(own | {"Expiration": ends()}).encode(), "Connection: close")

    with serving(*(keys(number) + HANG_UP for number in range(10))) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/container")
        present = credentials_for(TARGET)
        first, later = present(), present()
    assert (first.secret_key, first.token) == ("secret", "token")
    assert first.access_key.startswith("container-")
    assert later.access_key.startswith("container-")
    assert later.access_key != first.access_key


def test_a_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "credentials").write_text(
        "[default]\naws_access_key_id = other\naws_secret_access_key = other\n"
        "[load]\naws_access_key_id = of-profile\naws_secret_access_key = secret\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "load")
    assert credentials_for(TARGET)() == AccessKeys("of-profile", "secret")


def test_somebody_who_is_not_logged_in_is_told_so_before_anything_starts() -> None:
    with pytest.raises(TargetError, match="set AWS_PROFILE, or log in"):
        credentials_for(TARGET)
