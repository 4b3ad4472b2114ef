"""What an application sent, sent again at the same times: would this table have throttled it?"""

from locust import task

from keyheat.load.users.operations import TraceUser


class ReplayUser(TraceUser):
    """Sends the rows of `[keys] trace`, each at its time (`configs/scenarios/replay.toml`)."""

    @task
    def send_next(self) -> None:
        self.send_row()
