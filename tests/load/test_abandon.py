"""Calls beside the load of a run that is being ended."""

import gevent
import pytest

from keyheat.load.transport import boto
from keyheat.load.transport.boto import Abandoned, Calls

HANGS, ANSWERS = "http://hangs:8000/x", "http://answers:8000"


def ask(calls: Calls, url: str) -> str:
    try:
        with calls.waiting(url):
            if url == HANGS:
                gevent.sleep(3_600)
    except Abandoned as error:
        return str(error)
    return "answered"


def test_a_call_under_way_is_abandoned_and_a_silent_host_is_not_asked_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, abandoned = Calls(), "hangs:8000 did not answer, and the run is being ended"
    under_way, undone = gevent.spawn(ask, calls, HANGS), gevent.spawn(ask, calls, HANGS)
    gevent.sleep(0)
    calls.hurry(but=undone)
    under_way.join()
    assert (under_way.value, undone.ready()) == (abandoned, False)
    undone.kill()
    monkeypatch.setattr(boto, "ANSWER_S", 0.001)
    assert ask(calls, HANGS) == abandoned
    monkeypatch.setattr(boto, "ANSWER_S", 3_600)
    assert [ask(calls, url) for url in (HANGS, ANSWERS)] == [abandoned, "answered"]
    assert [calls.is_silent(url) for url in (HANGS, ANSWERS)] == [True, False]
