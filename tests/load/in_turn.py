"""A load test whose users read from the table and its copies in turn."""

from locust import task

from keyheat.load.users.readers import SpreadReader


class InTurnUser(SpreadReader):
    in_turn = True

    @task
    def read_in_turn(self) -> None:
        key = self.draw_key()
        found = self.read_item_anywhere(key)
        if found.complete and not found.items:
            self.put(key)
