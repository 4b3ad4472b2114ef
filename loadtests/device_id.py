"""The device id is the key, and devices are equally active: does anything throttle?"""

from locust import task

from keyheat.load.users.user import TableUser


class DeviceUser(TableUser):
    """Writes readings under their device and the time of day (`configs/scenarios/device-id.toml`)."""

    needs_sort_key = True

    @task
    def put_reading(self) -> None:
        self.put(self.draw_key())
