"""What follows the load: collect, analyze and report, and whose word the exit code is."""

from collections.abc import Callable

from keyheat.load.run.progress import Progress
from keyheat.load.run.stages import Stages
from keyheat.runfiles import DIAGNOSIS
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID

PHASES = (
    ("collecting", "collecting what CloudWatch says of the run's minutes", "collect", "--run"),
    ("analyzing", "analyzing", "analyze"),
    ("reporting", "writing the report", "report"),
)


def follow_up(
    stages: Stages,
    progress: Progress,
    *,
    endpoint_url: str,
    show_keys: bool,
    collected: Callable[[], None],
) -> int:
    """Run the stages; gives the exit code. The analyzer's word on the run comes first, then what went wrong.

    `endpoint_url` is the one that somebody loads, whatever the run's file says of it. `collected` is called
    once nothing more is asked of the table, its metrics and its endpoint.
    """
    folder, where = str(stages.folder), ("--endpoint-url", endpoint_url)
    codes = {}
    for phase, words, verb, *arguments in PHASES:
        progress.phase(phase, f"keyheat: {words}")
        said = [*where, *(["--show-keys"] if show_keys else [])] if verb == "collect" else []
        codes[verb] = stages.run(verb, *said, *arguments, folder)
        if codes[verb] == INTERRUPTED:
            return INTERRUPTED
        if verb == "collect":
            collected()
    if codes["analyze"] == BROKEN and not stages.made(DIAGNOSIS):
        codes["analyze"] = INVALID  # the analyzer itself broke, not a threshold
    if codes["report"] == DONE:
        page = f"{folder}/report.html"
        progress.phase("done", f"keyheat: the report is {page}", report=page)
    return next((codes[verb] for verb in ("analyze", "collect", "report") if codes[verb]), DONE)
