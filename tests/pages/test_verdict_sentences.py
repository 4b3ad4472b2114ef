import pytest

from keyheat.analysis.facts import Facts
from keyheat.runs.formats import GeneratorFacts, HotKey, Verdict
from keyheat.show.verdict import verdict_sentence
from keyheat.words import Resource

KEY = HotKey(key="sha256:1f3a", share=0.9, throttles=2460, units_per_s=1803.0)


def facts(index=None, direction="write", **more):
    numbers = {
        "start_s": 0.0, "end_s": 60.0, "consumed_per_s": 1120.0, "asked_per_s": 1900.0,
        "provisioned_per_s": 4000.0, "max_on_demand_per_s": None, "throttles": 2460,
        "labelled": 2460, "of_constraint": 2460, "run_attempts": 10_000, "run_throttles": 2460,
        "throttled_s": 60.0, "ceiling_per_s": 1000.0, "hot_key": KEY,
    }  # fmt: skip
    return Facts(resource=Resource(index, direction), **{**numbers, **more})


def verdict(constraint, *, valid=True):
    return Verdict(constraint=constraint, grade="reason", confidence=1, valid=valid, because=())


@pytest.mark.parametrize(
    ("constraint", "numbers", "sentence"),
    [
        ("partition", {},
         "Writes were throttled by a partition limit: one key, sha256:1f3a, asked for 1,800 WCU/s where "
         "a partition admits 1,000; the table used 28 % of its 4,000 WCU."),
        ("partition", {"hot_key": None},
         "Writes were throttled by a partition limit (1,000 WCU/s on any one partition); "
         "the table used 28 % of its 4,000 WCU."),
        ("partition", {"index": "by_country"},
         "Writes were throttled by a partition limit of index by_country: one key, sha256:1f3a, asked for "
         "1,800 WCU/s where a partition admits 1,000; index by_country used 28 % of its 4,000 WCU."),
        ("partition", {"provisioned_per_s": None, "index": "by_country", "hot_key": None},
         "Writes were throttled by a partition limit of index by_country (1,000 WCU/s on any one of its "
         "partitions); index by_country as a whole consumed 1,120 WCU/s."),
        ("partition", {"direction": "read", "ceiling_per_s": 3000.0, "consumed_per_s": None},
         "Reads were throttled by a partition limit: one key, sha256:1f3a, has 100 % of the throttles, where "
         "a partition admits 3,000 RCU/s."),
        ("table", {"provisioned_per_s": 100.0},
         "Writes were throttled because the table itself was too small: its demand was 1,900 WCU/s, and "
         "100 are provisioned."),
        ("table", {"provisioned_per_s": None},
         "Writes were throttled because the table itself was too small."),
        ("max_on_demand", {"max_on_demand_per_s": 500.0},
         "Writes were throttled by the on-demand maximum set on the table: it allows 500 WCU/s, and the "
         "demand was 1,900 WCU/s."),
        ("account", {},
         "Writes were throttled by the account's limit for one table; the table consumed 1,120 WCU/s."),
        ("undetermined", {},
         "Writes were throttled 2,460 times, and the evidence does not say by which limit."),
        ("undetermined", {"whose_unknown": True},
         "ThrottledRequests counts 2,460 throttles of writes, and CloudWatch does not say that the table "
         "refused them: look at its indexes."),
        ("none", {"other_causes": ("9 GetRecords requests were",), "elsewhere": 9, "run_throttles": 0},
         "No read or write was throttled, but 9 GetRecords requests were."),
        ("undetermined", {"throttles": 0},
         "The evidence is not enough to say whether anything was throttled."),
        ("none", {"run_throttles": 0},
         "Nothing was throttled: 1,120 WCU/s went through, 28 % of the table's 4,000 WCU."),
        ("none", {"run_throttles": 7},
         "Hardly anything was throttled (7 throttles): 1,120 WCU/s went through, 28 % of the table's "
         "4,000 WCU."),
        ("none", {"run_throttles": 0, "consumed_per_s": None}, "Nothing was throttled."),
    ],
)  # fmt: skip
def test_a_verdict_is_said_in_one_sentence(constraint, numbers, sentence):
    assert verdict_sentence(verdict(constraint), facts(**numbers), GeneratorFacts(bound=False)) == sentence


def test_a_generator_bound_run_says_nothing_about_the_table():
    said = verdict_sentence(verdict("partition", valid=False), facts(), GeneratorFacts(bound=True))
    assert said == "This run says nothing about the table: the load generator was the limit, not DynamoDB."


def test_an_undetermined_run_says_what_is_known_of_its_throttles():
    said = verdict_sentence(verdict("undetermined", valid=False), facts(), GeneratorFacts(bound=False))
    assert said == "Writes were throttled 2,460 times, and the evidence does not say by which limit."
