"""The same audit log, its suffix calculated from the time of access: does one read find one access?"""

from locust import task

from keyheat.load.users.readers import CollectionReader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import calculated_suffix


class AuditLogUser(TableUser):
    """Writes each access to the shard that its time falls on."""

    needs_sort_key = True

    @task
    def put_access(self) -> None:
        accessed_at = self.next_sort_key()
        self.put(calculated_suffix(self.draw_key(), accessed_at, self.shards), accessed_at)


class AuditorUser(CollectionReader):
    """Reads the latest accesses to a file from every shard, and single ones from the one that they are on."""

    fixed_count = 1

    @task(1)
    def read_latest(self) -> None:
        self.read_collection(self.draw_key(), limit=50, descending=True)

    @task(4)
    def read_access(self) -> None:
        path, accessed_at = self.draw_key(), self.next_sort_key()
        self.put(calculated_suffix(path, accessed_at, self.shards), accessed_at)
        self.read_calculated(path, accessed_at)
