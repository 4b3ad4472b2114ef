"""Was the load generator the limit? If so, the run shows nothing about the table."""

from keyheat.runs.formats import Finding
from keyheat.runs.run import Run
from keyheat.words import sentence

BOUND = "generator-bound"


def analyze(run: Run) -> list[Finding]:
    """Return one finding with the checks behind it."""
    if run.client is None:
        return [Finding(label="not-ours", because=("No load of ours: the evidence alone was analyzed.",))]
    health = run.client.manifest.generator if run.client.manifest else None
    if health is None:
        return [Finding(label="not-recorded", because=("The generator's health was not recorded.",))]
    label = BOUND if health.bound else "kept-up"
    return [Finding(label=label, because=tuple(map(sentence, health.checks)))]
