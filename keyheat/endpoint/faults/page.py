"""`/_keyheat/faults`: rules of faults are set (PUT), read with what they did (GET), and taken back (DELETE).

Setting them is guarded as DynamoDB's own API is (`Guard`); and a page of another site can send neither such a
method nor JSON without asking first, which nobody here says yes to.
https://developer.mozilla.org/docs/Web/HTTP/Guides/CORS#preflighted_requests
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from keyheat.endpoint.dynamodb import Operation
from keyheat.endpoint.http import Headers, is_json, response
from keyheat.endpoint.regions import Regions

if TYPE_CHECKING:
    from keyheat.endpoint.faults.injection import Faults
    from keyheat.endpoint.faults.rules import FaultRules

URL = b"/_keyheat/faults"
MOST_BYTES = 1 << 20


@dataclass(slots=True)
class FaultsPage:
    """Holds the operations as they are without faults, and changes those that are answered with."""

    regions: Regions
    operations: dict[bytes, Operation]
    without: dict[bytes, Operation]
    faults: "Faults | None" = None

    def answer(self, method: bytes, url: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The whole response, or None: another URL."""
        if url != URL:
            return None
        status, content = self._page(method, headers, body)
        return response(status, orjson.dumps(content))

    def set(self, rules: "FaultRules") -> None:
        """Go by these rules from now on, and by no others; every count begins at nothing."""
        from keyheat.endpoint.faults.injection import Faults

        faults = Faults(self.regions.home, rules)
        self._ask(faults)
        self.operations.update({target: faults.around(one) for target, one in self.without.items()})

    def clear(self) -> None:
        """Go by no rules."""
        self._ask(None)
        self.operations.update(self.without)

    def _ask(self, faults: "Faults | None") -> None:
        """Have every Region go by these; one that comes later goes by what home does."""
        self.faults = faults
        for service in self.regions:
            service.faults = faults

    def _page(self, method: bytes, headers: Headers, body: bytes) -> tuple[int, Any]:
        if method == b"GET":
            return 200, self._told()
        if method == b"PUT":
            return self._put(headers, body)
        if method == b"DELETE":
            told = self._told()
            self.clear()
            return 200, told
        return 405, {"error": "GET, PUT and DELETE are answered here"}

    def _put(self, headers: Headers, body: bytes) -> tuple[int, Any]:
        """Set rules, or say everything that is wrong with them; then those that there were stay."""
        if not is_json(headers):
            return 415, {"error": "rules are sent as Content-Type: application/json"}
        if len(body) > MOST_BYTES:
            return 413, {"error": f"rules have at most {MOST_BYTES:,} bytes"}
        from keyheat.endpoint.faults.rules import FaultRulesError, checked_rules

        try:
            rules = checked_rules("rules", orjson.loads(body))
        except orjson.JSONDecodeError as error:
            return 400, {"error": f"not JSON: {error}", "errors": [f"not JSON: {error} @ $"]}
        except FaultRulesError as error:
            return 400, {"error": str(error), "errors": error.errors}
        self.set(rules)
        return 200, self._told()

    def _told(self) -> dict[str, Any]:
        """The rules that there are, how often each was asked and struck, and since when they are set."""
        faults = self.faults
        if faults is None:
            return {"rules": []}
        since_s = self.regions.home.now_s() - faults.since_s
        return {"seed": faults.rules.seed, "since_s": round(since_s, 3), "rules": faults.rows()}
