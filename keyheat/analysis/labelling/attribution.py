"""Throttle events that CloudWatch counts under another resource than the one that refused.

`WriteAccountLimitThrottleEvents` has no index dimension: what an index refused for the account's quota is
counted under the table. The index's own `WriteThrottleEvents` of no other cause tell how many those were.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
"""

from dataclasses import replace

from keyheat.analysis.timeline import Timeline


def attributed(arranged: Timeline) -> Timeline:
    """The evidence, with account-limit events of writes at the index whose entries were refused."""
    table = next(t for t in arranged.tracks if t.index is None and t.direction == "write")
    counted = table.causes.get("account")
    if not counted:
        return arranged
    left = dict(counted)
    found = []
    for track in arranged.tracks:
        if track.index is None or track.direction == "read" or not track.events or not track.causes:
            found.append(track)
            continue
        causes = [cells for cause, cells in track.causes.items() if cause != "account"]
        own: dict[int, float] = {}
        for cell, events in track.events.items():
            part = min(left.get(cell, 0.0), events - sum(cells.get(cell, 0.0) for cells in causes))
            if part > 0:
                own[cell] = part
                left[cell] -= part
        found.append(replace(track, causes={**track.causes, "account": own}))
    rest = replace(table, causes={**table.causes, "account": left})
    return replace(arranged, tracks=tuple(rest if track is table else track for track in found))
