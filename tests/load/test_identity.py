"""Whatever botocore finds signs requests: profiles, SSO, roles, containers, instances, web identity.

The services that give credentials are one on loopback, in the shapes of botocore's own models; it numbers
the keys that it gives, so that a renewal is seen. botocore renews ahead of time what ends soon.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest

from keyheat.load.transport.signer import AccessKeys
from keyheat.load.transport.target import TargetError, credentials_for, target_at

pytestmark = pytest.mark.opens

TARGET = target_at("https://dynamodb.eu-west-1.amazonaws.com")
SOON = timedelta(minutes=5)  # botocore renews what ends within ten minutes before it is used again
START_URL = "https://people.example/start"
STS = """<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>
<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>
<Expiration>{ends}</Expiration></Credentials></{action}Result></{action}Response>"""


class Services(BaseHTTPRequestHandler):
    """Gives credentials as a container's, an instance's, STS's and SSO's service do."""

    given: "count[int]"

    def log_message(self, *_anything: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        role = "/latest/meta-data/iam/security-credentials/"
        if self.path == role:
            return self._send("load-role")
        if self.path.startswith("/federation/credentials"):
            ends_ms = int((datetime.now(UTC) + SOON).timestamp() * 1000)
            keys = {"accessKeyId": self._key(), "secretAccessKey": "secret", "sessionToken": "token"}
            return self._send(json.dumps({"roleCredentials": keys | {"expiration": ends_ms}}))
        return self._send(json.dumps(credentials(self._key()) | {"Code": "Success"}))

    def do_PUT(self) -> None:
        self._send("an instance's token")

    def do_POST(self) -> None:
        said = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        (action,) = said["Action"]
        self._send(STS.format(action=action, key=self._key(), ends=ends()))

    def _key(self) -> str:
        return f"{self.path.strip('/').split('?')[0].split('/')[0] or 'sts'}-{next(self.given)}"

    def _send(self, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def ends() -> str:
    return f"{datetime.now(UTC) + SOON:%Y-%m-%dT%H:%M:%SZ}"


def credentials(key: str) -> dict[str, str]:
    return {"AccessKeyId": key, "SecretAccessKey": "secret", "Token": "token", "Expiration": ends()}


@pytest.fixture
def services() -> Iterator[str]:
    handler = type("OneTest", (Services,), {"given": count(1)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without any AWS configuration, on a machine that is no instance."""
    for name in (
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    return tmp_path


def two_keys() -> tuple[AccessKeys, AccessKeys]:
    """What signs a request, and what signs one later."""
    present = credentials_for(TARGET)
    return present(), present()


def is_renewed(name: str) -> None:
    first, later = two_keys()
    assert first.access_key.startswith(name)
    assert (first.secret_key, first.token) == ("secret", "token")
    assert later.access_key.startswith(name)
    assert later.access_key != first.access_key


def test_a_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "credentials").write_text(
        "[default]\naws_access_key_id = other\naws_secret_access_key = other\n"
        "[load]\naws_access_key_id = of-profile\naws_secret_access_key = secret\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "load")
    assert two_keys()[0] == AccessKeys("of-profile", "secret")


def test_a_program_that_gives_credentials(home: Path) -> None:
    program = home / "give.py"
    program.write_text(
        "import json, pathlib\n"
        f"place = pathlib.Path({str(home / 'given')!r})\n"
        "n = int(place.read_text()) + 1 if place.exists() else 1\n"
        "place.write_text(str(n))\n"
        f"ends = {ends()!r}\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'process-{n}', 'SecretAccessKey': 'secret',"
        " 'SessionToken': 'token', 'Expiration': ends}))\n"
    )
    (home / "config").write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")
    is_renewed("process")


def test_a_container(services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{services}/container")
    is_renewed("container")


def test_an_instance(services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore keeps an instance's credentials for some minutes longer where they end soon."""
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"{services}/")
    first, _later = two_keys()
    assert (first.access_key, first.token) == ("latest-1", "token")


def test_a_role_of_a_profile(home: Path, services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "credentials").write_text("[own]\naws_access_key_id = own\naws_secret_access_key = own\n")
    (home / "config").write_text(
        "[profile load]\nrole_arn = arn:aws:iam::123456789012:role/load\nsource_profile = own\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "load")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", services)
    is_renewed("sts")


def test_web_identity(home: Path, services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "web").write_text("a token of somebody else's")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(home / "web"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/load")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", services)
    is_renewed("sts")


def test_single_sign_on(home: Path, services: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config").write_text(
        f"[default]\nsso_start_url = {START_URL}\nsso_region = eu-west-1\nsso_account_id = 123456789012\n"
        "sso_role_name = load\n"
    )
    logged_in = home / ".aws" / "sso" / "cache" / f"{sha1(START_URL.encode()).hexdigest()}.json"
    logged_in.parent.mkdir(parents=True)
    logged_in.write_text(json.dumps({"accessToken": "logged in", "expiresAt": "2099-01-01T00:00:00Z"}))
    monkeypatch.setattr("botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR", str(logged_in.parent))
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", services)
    is_renewed("federation")


def test_somebody_who_is_not_logged_in_is_told_so_before_anything_starts() -> None:
    with pytest.raises(TargetError, match="set AWS_PROFILE, or log in"):
        credentials_for(TARGET)
