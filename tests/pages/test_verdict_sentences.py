from pathlib import Path
from typing import Any

from keyheat.analysis.facts import Facts
from keyheat.runs.formats import GeneratorFacts, HotKey, Verdict
from keyheat.show.verdict import verdict_sentence
from keyheat.words import Resource
from tests.conftest import Golden

KEY = HotKey(key="sha256:1f3a", share=0.9, throttles=2460, units_per_s=1803.0)
OTHER = KEY.model_copy(update={"key": "sha256:c07a", "units_per_s": 1_200.0})
NUMBERS = {
    "consumed_per_s": 1120.0, "asked_per_s": 1900.0,
    "provisioned_per_s": 4000.0, "max_on_demand_per_s": None, "throttles": 2460,
    "labelled": 2460, "of_verdict": 2460, "run_attempts": 10_000,
    "run_throttles": 2460,
    "throttled_s": 60.0, "ceiling_per_s": 1000.0, "hot_key": KEY,
}  # fmt: skip
INDEX, READS = Resource("by_country", "write"), Resource(None, "read")
CASES: list[tuple[str, dict[str, Any]]] = [
    ("partition", {}),
    ("partition", {"hot_beside": (OTHER,)}),
    ("partition", {"hot_beside": (OTHER,) * 5}),
    ("partition", {"hot_key": None}),
    ("partition", {"beside": (("were reads", 0.4),)}),
    ("partition", {"beside": (("were reads", 0.4),), "run_throttles": 50_000}),
    ("partition", {"resource": INDEX}),
    ("partition", {"resource": INDEX, "provisioned_per_s": None, "hot_key": None}),
    ("partition", {"resource": READS, "ceiling_per_s": 3000.0, "consumed_per_s": None}),
    ("table", {"provisioned_per_s": 100.0}),
    ("table", {"provisioned_per_s": 100.0, "provisioned_last_per_s": 400.0}),
    ("table", {"provisioned_per_s": None}),
    ("max_on_demand", {"max_on_demand_per_s": 500.0}),
    ("account", {}),
    ("undetermined", {}),
    ("undetermined", {"valid": False}),
    ("undetermined", {"whose_unknown": True}),
    ("undetermined", {"throttles": 0}),
    ("none", {"other_causes": ("9 GetRecords requests were",), "elsewhere": 9, "run_throttles": 0}),
    ("none", {"run_throttles": 0}),
    ("none", {"run_throttles": 7}),
    ("none", {"run_throttles": 0, "consumed_per_s": None}),
    ("partition", {"valid": False, "bound": True}),
    ("partition", {"valid": False, "bound": True, "checks": ("A user failed 75 times: TypeError('x').",)}),
]


def test_a_verdict_is_said_in_one_sentence(golden: Golden) -> None:
    said = []
    for constraint, numbers in CASES:
        valid, bound = numbers.get("valid", True), numbers.get("bound", False)
        verdict = Verdict(constraint=constraint, grade="reason", confidence=1, valid=valid, because=())
        checks = numbers.get("checks", ())
        more = {name: value for name, value in numbers.items() if name not in ("valid", "bound", "checks")}
        facts = Facts(**{"resource": Resource(None, "write"), **NUMBERS, **more})
        said.append(verdict_sentence(verdict, facts, GeneratorFacts(bound=bound, checks=checks)))
    golden(Path(__file__).parent / "golden" / "verdict-sentences.txt", "".join(f"{one}\n" for one in said))
