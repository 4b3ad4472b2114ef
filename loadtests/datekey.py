"""Today's date is the key: do all of today's writes throttle on one partition, and does it move at midnight?"""

from locust import task

from loadtests._users import TableUser


class DateKeyUser(TableUser):
    """Writes events under today's date and the time of day (`configs/scenarios/datekey.toml`).

    The sort key only ever grows, so all writes go to the end of the collection and splitting it would not help.
    """

    needs_sort_key = True

    @task
    def put_event(self) -> None:
        self.put(self.draw_key(), sort_key=self.next_sort_key())
