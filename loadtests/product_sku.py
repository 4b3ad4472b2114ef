"""The product is the key and the order date the sort key: what does one popular product do?"""

from locust import task

from keyheat.load.users.user import TableUser


class OrderUser(TableUser):
    """Writes orders under their product; few products make most of the orders."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        self.put(self.draw_key())
