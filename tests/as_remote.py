"""`python -m tests.as_remote ARGUMENTS`: Locust, for whom no target is on this machine.

So everything is done that is done only where tables are somebody's and cost money, while requests go to
loopback all the same.
"""

from gevent import monkey

monkey.patch_all()  # as importing locust would do, but before the clients of AWS are imported

from locust.main import main  # noqa: E402

from keyheat.load.transport.target import Target  # noqa: E402

Target.local = property(lambda _self: False, lambda _self, _found: None)  # type: ignore[misc, assignment]

if __name__ == "__main__":
    main()  # type: ignore[no-untyped-call]
