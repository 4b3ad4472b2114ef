"""Today's date is the key: do all of its writes throttle on one partition, and does that move at midnight?"""

from locust import task

from keyheat.load.users.user import TableUser


class DateKeyUser(TableUser):
    """Writes events under today's date and the time of day (`configs/scenarios/datekey.toml`).

    The sort key only ever grows: all writes go to the end of the collection, and no split would help.
    """

    needs_sort_key = True

    @task
    def put_event(self) -> None:
        self.put(self.draw_key(), sort_key=self.next_sort_key())
