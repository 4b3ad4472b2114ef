"""Users take turns: who has waited for an answer goes on at once, and who has not lets others run first."""

from types import SimpleNamespace
from typing import Any

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")  # this process has other tests
    from keyheat.load.users import user


@pytest.mark.parametrize(
    ("wait_s", "others_ran", "slept"),
    [
        pytest.param(0.0, True, [], id="the next task is due"),
        pytest.param(0.0, False, [0.0], id="a cache had the answer"),
        pytest.param(0.2, True, [0.2], id="the next task is due later"),
    ],
)
def test_a_user_sleeps_where_it_has_to(
    wait_s: float, others_ran: bool, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps: list[float] = []
    monkeypatch.setattr(user, "gevent", SimpleNamespace(sleep=sleeps.append))
    state: Any = SimpleNamespace(_others_ran=others_ran)
    user.TableUser._sleep_unless_due(state, wait_s)
    assert sleeps == slept
    assert not state._others_ran, "each answer counts for one task"
