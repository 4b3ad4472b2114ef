"""The beat of every second: one that was late is not made up for."""

from keyheat.load.run.load import LEAST_BEAT_S, next_beat_s


def test_beats_keep_to_their_seconds() -> None:
    assert next_beat_s(10.0, 10.01) == 11.0


def test_a_late_beat_is_not_followed_at_once() -> None:
    """CPU time of a moment is no measure: a step of it would be a thousand per cent of a core."""
    due_s, now_s = 10.0, 14.2  # the process had no CPU for some seconds
    beats = []
    for _ in range(4):
        due_s = next_beat_s(due_s, now_s)
        beats.append(due_s - now_s)
        now_s = max(now_s, due_s)
    assert min(beats) >= LEAST_BEAT_S - 1e-9
