"""Puts on condition that nothing is there: one that fails was admitted, and is paid for, all the same."""

from dataclasses import replace

from keyheat.simulator.flow import Answer
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.costs import replacing_units, write_sizes
from keyheat.simulator.traffic.puts import put
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Users, one_task
from keyheat.simulator.traffic.written import Written
from keyheat.words import Direction


def unique(setting: Setting) -> LoadTest:
    """Every user draws numbers, and puts an item on each one that is not taken."""

    def users() -> list[Users]:
        keys = setting.keys
        taken = setting.written(keys).there(setting.coming)
        found = replace(put(setting, keys, new=True), times=1 - taken)
        return [one_task(found, failing_put(setting, keys, taken, also=setting.written(keys)))]

    return users


def failing_put(setting: Setting, keys: Masses, times: float, *, also: Written | None = None) -> Request:
    """A put on a key that has an item: it costs what replacing it would, and no index entries.

    `also` is told of it as of every put that came to a key.
    """

    def told(answer: Answer) -> None:
        if also is not None:
            also.told(answer)
        setting.counts["conditions.failed"] += answer.accepted
        setting.counts["conditions.failed_units"] += answer.units

    return Request(
        operation="PutItem",
        direction=Direction.WRITE,
        keys=setting.placed(keys, setting.at_the_end),
        units=replacing_units(setting.load),
        sizes=write_sizes(setting.load, there=1.0),
        times=times,
        told=told,
    )
