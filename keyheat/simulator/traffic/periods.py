"""A table for each period: writes go to the last one's for half of the run, and then to the new one's."""

from keyheat.simulator.traffic.puts import put
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import LoadTest, Request, Task, Users
from keyheat.words import Direction


def rolled_over(setting: Setting) -> LoadTest:
    """The new table is the judged one. The old one is lowered then, which no request of the load notices."""
    last = setting.companion("the last period's table")
    rollover_s = setting.load.duration_s / 2

    def users() -> list[Users]:
        keys = setting.keys
        before = Request(
            operation="PutItem",
            direction=Direction.WRITE,
            keys=setting.placed(keys, "rising" if last.sort_key else "point"),
            units=setting.load.mean_write_units,
            table=last.name,
        )
        part = min(1.0, max(0.0, rollover_s - setting.at_s))  # of this second
        return [Users((Task((before,), part), Task((put(setting, keys),), 1 - part)))]

    return users
