"""Other services of AWS, asked for here where one URL is set for all of them (`AWS_ENDPOINT_URL`).

Who somebody is, is answered, since tools ask that first; all else is refused in words that each SDK shows.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
"""

from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

import orjson

from keyheat.endpoint.http import Headers, response
from keyheat.endpoint.regions import SCOPE

OURS: Final = (b"dynamodb", b"monitoring")
FORM: Final = b"application/x-www-form-urlencoded"
XML: Final = b"text/xml"
CODE: Final = "ServiceNotServedHere"
STS: Final = "https://sts.amazonaws.com/doc/2011-06-15/"


@dataclass(frozen=True, slots=True)
class OtherServices:
    """Answers requests that are signed for a service that is not here."""

    account_id: str

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response; None for a request that is for us, or for nobody."""
        found = SCOPE.search(headers.get(b"authorization", b""))
        if found is None or found[2] in OURS:
            return None
        if found[2] == b"sts" and b"Action=GetCallerIdentity" in body:
            return response(200, self._identity(), content_type=XML)
        return _refusal(found[2].decode(), headers)

    def _identity(self) -> bytes:
        arn = f"arn:aws:iam::{self.account_id}:user/local"
        return (
            f'<GetCallerIdentityResponse xmlns="{STS}"><GetCallerIdentityResult><Arn>{arn}</Arn>'
            f"<UserId>local</UserId><Account>{self.account_id}</Account></GetCallerIdentityResult>"
            "<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
        ).encode()


def _refusal(name: str, headers: Headers) -> bytes:
    """The error in the protocol of the service: JSON, or XML as query services and S3 have it."""
    said = (
        f"Keyheat's local endpoint has DynamoDB and CloudWatch, and no {name}: in place of AWS_ENDPOINT_URL "
        "set AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL_DYNAMODB_STREAMS and AWS_ENDPOINT_URL_CLOUDWATCH."
    )
    if headers.get(b"content-type", b"").startswith(FORM):
        error = f"<Error><Type>Sender</Type><Code>{CODE}</Code><Message>{escape(said)}</Message></Error>"
        body = f"<ErrorResponse>{error}<RequestId>local</RequestId></ErrorResponse>"
        return response(400, body.encode(), content_type=XML)
    if name == "s3":
        body = f"<Error><Code>{CODE}</Code><Message>{escape(said)}</Message></Error>"
        return response(400, body.encode(), content_type=b"application/xml")
    kind = f"x-amzn-errortype: {CODE}\r\n".encode()
    return response(400, orjson.dumps({"__type": CODE, "message": said}), extra=kind)
