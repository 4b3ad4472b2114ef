"""The user id is the key, and users are evenly active: does anything throttle?"""

from locust import task

from keyheat.load.users.user import TableUser


class UserIdUser(TableUser):
    """Writes the profiles of many users, each as likely as the next (`configs/scenarios/user-id.toml`)."""

    @task
    def put_profile(self) -> None:
        self.put(self.draw_key())
