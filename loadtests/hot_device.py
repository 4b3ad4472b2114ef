"""The device id is the key, and one device is far more active than the rest: is a good key space enough?"""

from locust import task

from keyheat.load.users.user import TableUser


class HotDeviceUser(TableUser):
    """Writes readings; one device sends most of them (`configs/scenarios/hot-device.toml`)."""

    needs_sort_key = True

    @task
    def put_reading(self) -> None:
        self.put(self.draw_key())
