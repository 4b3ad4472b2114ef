"""After a run on somebody else's table: what it wrote is deleted again, if that was asked for.

It is a stage of its own, after the metrics are collected, so that no minute of the run shows its requests.
"""

from keyheat.load.run.options import Plan
from keyheat.load.run.progress import Progress
from keyheat.load.run.stages import Stages
from keyheat.words import DONE


def clean_up(plan: Plan, stages: Stages, progress: Progress) -> None:
    """Have `keyheat clean` delete the items of the run; where it does not end, say how to go on."""
    if not plan.clean_up:
        return
    table = plan.scenario.table.name
    if not plan.marked:
        progress.say(
            f"--clean-up: items on table {table} carry no mark, since it is one of our own: it is deleted or "
            "kept as a whole"
        )
        return
    progress.phase("cleaning", f"keyheat: deleting the items of this run from table {table}")
    where = () if plan.target is None else ("--endpoint-url", plan.target.url)
    if stages.run("clean", "--yes", *where, str(stages.folder)) != DONE:
        progress.say(f"items of this run are still on table {table}. To go on: keyheat clean {stages.folder}")
