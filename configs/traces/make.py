"""Writes `example.csv`: half a minute of a small shop, with a sale that begins after ten seconds.

python configs/traces/make.py
"""

import csv
from pathlib import Path
from random import Random

PRODUCTS, ROWS, SALE_S, SECONDS = 40, 180, 10.0, 30.0


def main() -> None:
    """Write the trace. The same rows every time: the random numbers have a seed."""
    rng = Random(7)
    times = sorted(rng.uniform(0, SECONDS) for _ in range(ROWS))
    with Path(__file__).with_name("example.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(["time", "operation", "key", "sort_key", "size_bytes"])
        for number, at_s in enumerate(times):
            on_sale = at_s > SALE_S and rng.random() < 0.7
            product = "product-1" if on_sale else f"product-{rng.randrange(PRODUCTS)}"
            operation = rng.choices(["put", "get", "update", "query", "delete"], [5, 3, 3, 1, 0.5])[0]
            sort_key = "stock" if operation in ("get", "update") else f"order-{number:04d}"
            size = (
                "" if operation in ("get", "query", "delete") else round(rng.lognormvariate(6.5, 0.8)) + 100
            )
            write([f"{at_s:.3f}", operation, product, "" if operation == "query" else sort_key, size])


if __name__ == "__main__":
    main()
