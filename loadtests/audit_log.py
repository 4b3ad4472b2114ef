"""An audit log is keyed by file path: what does one popular file do to it?"""

from locust import task

from generator.users.user import TableUser


class AuditLogUser(TableUser):
    """Writes who read which file, and when (`configs/scenarios/audit-log.toml`)."""

    needs_sort_key = True

    @task
    def put_access(self) -> None:
        self.put(self.draw_key())
