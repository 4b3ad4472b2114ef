"""One key takes 90 % of the writes: does its partition throttle while the table has room?"""

from locust import task

from keyheat.load.users.user import TableUser


class HotKeyUser(TableUser):
    """Writes orders; which key takes how many is the scenario's to say (`configs/scenarios/hotkey.toml`)."""

    @task
    def put_order(self) -> None:
        self.put(self.draw_key())
