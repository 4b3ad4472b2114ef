"""`/_keyheat/advance` moves its time on; `/_keyheat/snapshot` gives all it holds, and takes it back.

Both are guarded as DynamoDB's own API is (`Guard`); and what changes something has to be said as JSON, or by
PUT, which no page of another site may send without asking first.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from keyheat.endpoint.http import Headers, is_json, response
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.state.clock import ServiceClock

ADVANCE: Final = b"/_keyheat/advance"
SNAPSHOT: Final = b"/_keyheat/snapshot"
NDJSON: Final = b"application/x-ndjson"
HOW: Final = 'POST {"seconds": 300} as Content-Type: application/json'


@dataclass(frozen=True, slots=True)
class StatePage:
    """Answers for one endpoint; its clock is None where nobody may move it."""

    regions: Regions
    clock: ServiceClock | None = None

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: another URL."""
        if url == ADVANCE:
            status, content = self._advance(method, headers, body)
        elif url != SNAPSHOT:
            return None
        elif method == b"GET":
            from keyheat.endpoint.state.snapshot import snapshot

            return response(200, snapshot(self.regions), content_type=NDJSON)
        else:
            status, content = self._restore(method, body)
        return response(status, orjson.dumps(content))

    def _advance(self, method: bytes, headers: Headers, body: bytes) -> tuple[int, dict[str, Any]]:
        if method != b"POST":
            return 405, {"error": f"time is moved on by {HOW}"}
        if not is_json(headers):
            return 415, {"error": f"time is moved on by {HOW}"}
        if self.clock is None:
            return 404, {"error": "the time of this endpoint is somebody else's"}
        try:
            said = orjson.loads(body)
            seconds = said["seconds"] if isinstance(said, dict) and set(said) == {"seconds"} else None
            if isinstance(seconds, bool) or not isinstance(seconds, int | float):
                raise ValueError(f"a number; {HOW}")
            self.clock.advance(seconds)
        except ValueError as error:
            return 400, {"error": f"seconds: {error}"}
        return 200, {"now_s": round(self.regions.home.now_s(), 3), "ahead_s": self.clock.ahead_s}

    def _restore(self, method: bytes, body: bytes) -> tuple[int, dict[str, Any]]:
        if method != b"PUT":
            return 405, {"error": "GET gives a snapshot, PUT takes one back"}
        from keyheat.endpoint.state.snapshot import NoSnapshot, restore

        try:
            restore(self.regions, body)
        except NoSnapshot as error:
            return 400, {"error": str(error)}
        return 200, {"tables": {name: len(table.items) for name, (_, table) in self.regions.tables().items()}}
