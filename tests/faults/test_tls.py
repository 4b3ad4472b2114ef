"""TLS is verified, always: by both transports, whatever the environment says, and no option turns it off."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from keyheat.load.transport.answer import Answer
from keyheat.load.transport.target import TargetError, target_at
from tests.load.scripted import answered, serving
from tests.make import a_transport

ROOT = Path(__file__).parents[2]
PACKAGES = ("keyheat", "loadtests")
BODY = b'{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}'
DAY = timedelta(days=1)


def certificate(path: Path, name: str, ends: datetime) -> Path:
    """A certificate that nobody signed but itself, in a PEM file with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "keyheat test")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - 10 * DAY)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    path.write_bytes(secret + signed.public_bytes(pem))
    return path


both = pytest.mark.parametrize("make", ["signed", "boto3"])


def one_answer(make: str, url: str) -> Answer:
    transport = a_transport(make, url)
    answer = transport.send("PutItem", b'{"TableName":"t","Item":{"pk":{"S":"k"}}}')
    transport.close()
    return answer


GOOD, OTHER_HOST, EXPIRED = ("localhost", DAY), ("elsewhere.example", DAY), ("localhost", -DAY)
BUNDLE = "AWS_CA_BUNDLE"


@pytest.fixture(autouse=True)
def _nothing_named(no_account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)


CASES: dict[str, tuple[tuple[str, timedelta], dict[str, str], str, bool]] = {
    "its authority is named": (GOOD, {BUNDLE: "PEM"}, "", True),
    "the profile names its authority": (GOOD, {}, "[default]\nca_bundle = PEM\n", True),
    "nobody vouches for it": (GOOD, {}, "", False),
    "Python is told not to verify": (GOOD, {"PYTHONHTTPSVERIFY": "0"}, "", False),
    "of another host": (OTHER_HOST, {BUNDLE: "PEM"}, "", False),
    "expired": (EXPIRED, {BUNDLE: "PEM"}, "", False),
}


@pytest.mark.opens
@both
@pytest.mark.parametrize("case", CASES)
def test_a_certificate_is_trusted_where_somebody_names_its_authority(
    make: str, case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (name, ends), named, profile, trusted = CASES[case]
    pem = certificate(tmp_path / "made.pem", name, datetime.now(UTC) + ends)
    for variable, value in named.items():
        monkeypatch.setenv(variable, value.replace("PEM", str(pem)))
    (tmp_path / "config").write_text(profile.replace("PEM", str(pem)))
    with serving(answered("200 OK", BODY), tls=pem) as server:
        answer = one_answer(make, server.url.replace("http://127.0.0.1", "https://localhost"))
    assert (answer.accepted, answer.failure) == ((True, None) if trusted else (False, "tls"))
    assert len(server.requests) == trusted, "not a byte of the request"


@pytest.mark.parametrize("named", ["", "/no/such/file.pem", __file__])
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
