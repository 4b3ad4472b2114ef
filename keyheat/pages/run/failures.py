"""Requests that failed for another reason than a throttle, by kind, as a table."""

from collections.abc import Mapping
from typing import Final

from keyheat.numbers import percent, whole
from keyheat.pages.charts.figures import Table, shortened
from keyheat.pages.run.load import Run

MEANINGS: Final[Mapping[str, str]] = {
    "name_lookup": "the host has no address",
    "connection_refused": "nobody listened at the address",
    "connection_failed": "no connection for another reason, such as no route",
    "tls": "the certificate is not trusted, or is not that host's",
    "timeout": "no connection, or no further byte of the answer, in time",
    "connection_reset": "the connection ended before an answer came: a write may or may not have been done",
    "cut_off": "the connection ended within the answer: the request was handled",
    "crc32_mismatch": "the answer was damaged on its way: the request was handled",
    "bad_http": "what came back is not HTTP",
    "answer_too_long": "the answer went on after all that DynamoDB can say, and was dropped",
    "not_an_answer": "HTTP 200, but not DynamoDB's answer: does a proxy or a login page stand between?",
    "no_units": "accepted, it says, but without the consumed capacity that was asked for",
    "credentials": "there were no credentials any more, and nothing was sent",
    "still_in_flight_at_stop": "not answered when the load was stopped",
    "ExpiredTokenException": "the session's credentials had expired",
    "UnrecognizedClientException": "the access key is not known there",
    "InvalidSignatureException": "wrong secret key, clock, or region of the endpoint",
    "InternalServerError": "DynamoDB failed inside",
    "ResourceNotFoundException": "the table was not there",
}
"""What each kind means; a kind without words is an error code of the service."""


def failure_table(run: Run) -> Table | None:
    """Every kind with its count and its share of all attempts, most frequent first; None: nothing failed."""
    kinds, attempts = run.totals.errors_by_kind, run.totals.attempts
    if not kinds:
        return None
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    return Table(
        caption="Requests that failed for another reason than a throttle",
        columns=("kind", "requests", "of all", "meaning"),
        rows=tuple(
            (
                shortened(kind, 80),
                whole(count),
                percent(count / attempts) if attempts else "",
                MEANINGS.get(kind, ""),
            )
            for kind, count in ordered
        ),
        numeric=frozenset({1, 2}),
    )
