"""An audit log is keyed by file path: what does one popular file do to it?"""

from locust import task

from keyheat.load.users.readers import CollectionReader
from keyheat.load.users.user import TableUser


class AuditLogUser(TableUser):
    """Writes who read which file, and when: all accesses to one file meet on one key."""

    needs_sort_key = True

    @task
    def put_access(self) -> None:
        self.put(self.draw_key())


class AuditorUser(CollectionReader):
    """Reads the latest accesses to a file: one query."""

    fixed_count = 1

    @task
    def read_latest(self) -> None:
        self.read_shards((self.draw_key(),), limit=50, descending=True)
