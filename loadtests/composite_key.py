"""Customer, product and country together are the key: does that take the heat off a popular product?"""

from locust import task

from keyheat.load.users.user import TableUser

CUSTOMERS, COUNTRIES = 10_000, 50


class OrderUser(TableUser):
    """Writes orders under customer#product#country; products are as popular as in `product-sku.toml`."""

    needs_sort_key = True

    @task
    def put_order(self) -> None:
        customer, country = self.rng.randrange(CUSTOMERS), self.rng.randrange(COUNTRIES)
        self.put(f"customer-{customer}#{self.draw_key()}#country-{country}")
