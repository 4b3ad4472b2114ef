"""TLS is verified, always: by both transports, whatever the environment says, and no option turns it off."""

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from keyheat.load.transport.answer import Answer
from keyheat.load.transport.target import TargetError, target_at
from tests.make import a_transport

ROOT = Path(__file__).parents[2]
PACKAGES = ("keyheat", "loadtests")
BODY = b'{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that nobody signed but itself, in a PEM file with its key."""

    path: Path

    @classmethod
    def made(cls, path: Path, names: tuple[str, ...], ends: datetime) -> "Certificate":
        key = ec.generate_private_key(ec.SECP256R1())
        who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "keyheat test")])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(who)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(ends - 10 * DAY)
            .not_valid_after(ends)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
            .sign(key, hashes.SHA256())
        )
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return cls(path)


@contextmanager
def serving(certificate: Certificate) -> Iterator[tuple[str, list[bytes]]]:
    """A TLS server on loopback that answers every request; gives its URL and what it read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.path)
    listener, read = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            plain.settimeout(10)
            with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
                while data := connection.recv(65_536):
                    read.append(data)
                    connection.sendall(ANSWER)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://localhost:{listener.getsockname()[1]}", read
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


both = pytest.mark.parametrize("make", ["signed", "boto3"])


def one_answer(make: str, url: str) -> Answer:
    transport = a_transport(make, url)
    answer = transport.send("PutItem", b'{"TableName":"t","Item":{"pk":{"S":"k"}}}')
    transport.close()
    return answer


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return Certificate.made(tmp_path / "good.pem", ("localhost",), datetime.now(UTC) + DAY)


@pytest.mark.opens
@both
def test_an_authority_that_is_named_is_trusted(
    make: str, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate.path))
    with serving(certificate) as (url, read):
        assert one_answer(make, url).content()["ConsumedCapacity"]["CapacityUnits"] == 1.0
    assert read


TRIED = {
    "nothing": {},
    "Python is told not to verify": {"PYTHONHTTPSVERIFY": "0"},
    "curl is told to trust nobody in particular": {"CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "/dev/null"},
}


@pytest.mark.opens
@both
@pytest.mark.parametrize("tried", TRIED)
def test_a_certificate_that_nobody_vouches_for_is_refused(
    make: str, certificate: Certificate, monkeypatch: pytest.MonkeyPatch, tried: str
) -> None:
    for name, value in TRIED[tried].items():
        monkeypatch.setenv(name, value)
    with serving(certificate) as (url, read):
        assert one_answer(make, url).failure == "tls"
    assert read == []  # not a byte of the request


@pytest.mark.opens
@both
@pytest.mark.parametrize(
    ("names", "ended"),
    [(("elsewhere.example",), False), (("localhost",), True)],
    ids=["other host", "expired"],
)
def test_a_certificate_of_another_host_or_time_is_refused(
    make: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...], ended: bool
) -> None:
    ends = datetime.now(UTC) + (-DAY if ended else DAY)
    wrong = Certificate.made(tmp_path / "wrong.pem", names, ends)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(wrong.path))
    with serving(wrong) as (url, read):
        assert one_answer(make, url).failure == "tls"
    assert read == []


@pytest.mark.opens
@both
def test_a_server_without_tls_is_refused(make: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert one_answer(make, f"https://localhost:{listener.getsockname()[1]}").failure == "tls"
        thread.join()


@pytest.mark.parametrize("named", ["", " ", "/no/such/file.pem", __file__])
@pytest.mark.parametrize("where", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_a_bundle_that_cannot_be_used_is_said_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, named: str, where: str
) -> None:
    monkeypatch.setenv(where, named)
    with pytest.raises(TargetError, match="no certificates of authorities can be read from"):
        target_at("https://dynamodb.eu-west-1.amazonaws.com")
    assert target_at("http://127.0.0.1:8000").local


TURNS_IT_OFF = re.compile(
    r"CERT_NONE|check_hostname *= *False|verify *= *(False|None|0)|insecure|_create_unverified|no.verify"
)


def test_nothing_turns_it_off() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(sources) > 100
    found = [str(path) for path in sources if TURNS_IT_OFF.search(path.read_text(encoding="utf-8"))]
    assert found == []
    assert TURNS_IT_OFF.search("session.client(name, verify=False)")


@pytest.mark.opens
@both
def test_an_authority_that_the_profile_names_is_trusted(
    make: str, certificate: Certificate, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(f"[default]\nca_bundle = {certificate.path}\n")
    with serving(certificate) as (url, _read):
        assert one_answer(make, url).accepted
