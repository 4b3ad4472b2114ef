"""Keys are spread evenly: is the table itself too small?"""

from locust import task

from keyheat.load.users.user import TableUser


class EvenKeysUser(TableUser):
    """Writes items under keys that are all equally likely (`configs/scenarios/too-small.toml`)."""

    @task
    def put_item(self) -> None:
        self.put(self.draw_key())
