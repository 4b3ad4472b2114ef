"""What a team asserts of its key designs in its own tests: `keyheat.assert_no_hot_partition(...)` and so on.

what is sent (asked) --simulated or recorded--> is it so? (checks)  no: CheckFailed (failing)
"""
