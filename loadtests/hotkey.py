"""Items under keys as the scenario draws them: does one partition throttle while the table has room?"""

from locust import task

from keyheat.load.users.user import TableUser


class HotKeyUser(TableUser):
    """Writes items; which key takes how many is the scenario's to say (`configs/scenarios/hotkey.toml`).

    The scenarios of even keys and of tables that are too small are run with it, too.
    """

    @task
    def put_order(self) -> None:
        self.put(self.draw_key())
