"""A status code is the key, of which there are three: can the table use what it is provisioned for?"""

from locust import task

from keyheat.load.users.user import TableUser


class StatusCodeUser(TableUser):
    """Writes orders under their status, all states equally often (`configs/scenarios/status-code.toml`)."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        self.put(self.draw_key())
