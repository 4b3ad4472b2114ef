"""A load test at its pace: the `Traffic` of a scenario."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from keyheat.simulator.flow import Answer, Flow
from keyheat.simulator.traffic.pace import Pace, Sent, pace_of
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Users


@dataclass(slots=True)
class Sending:
    """The users of a load test, each at its pace."""

    setting: Setting
    loadtest: Callable[[Setting], LoadTest]
    _users: LoadTest = field(init=False)
    _pace: Pace = field(init=False)
    _told: list[Request] = field(default_factory=list, init=False)  # of this second's flows, in order

    def __post_init__(self) -> None:
        self.setting.begin(0.0)
        self._users = self.loadtest(self.setting)
        self._pace = pace_of(self.setting.load)

    @property
    def counts(self) -> Mapping[str, float]:
        """What the load test counts, `group.what`, as `counted` of a run's manifest has it."""
        return self.setting.counts

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        self.setting.begin(at_s)
        kinds = self._users()
        sent = [*_requests(self._pace.sent(kinds, at_s)), *_aside(kinds)]
        self._told = [request for request, _times in sent]
        return [self._flow(request, times) for request, times in sent]

    def answered(self, at_s: float, answers: Sequence[Answer]) -> None:
        """Tell the pace, and whoever sent it, what became of each flow."""
        self._pace.answered(answers)
        for request, answer in zip(self._told, answers, strict=True):
            request.told(answer)

    def _flow(self, request: Request, times: float) -> Flow:
        return Flow(
            operation=request.operation,
            direction=request.direction,
            requests=times,
            keys=request.keys,
            units=request.units,
            sizes=request.sizes,
            items=request.items,
            together=request.together,
            within=request.within,
            eventual=request.eventual,
            index=request.index,
            index_writes=request.index_writes,
            table=request.table,
            poisson=self.setting.load.arrivals == "poisson",
        )


def _requests(sent: Sequence[Sent]) -> Iterator[tuple[Request, float]]:
    for task, times in sent:
        yield from ((request, times * request.times) for request in task.requests)


def _aside(kinds: Sequence[Users]) -> Iterator[tuple[Request, float]]:
    for kind in kinds:
        yield from ((request, request.times) for request in kind.aside)
