"""What a load test sends, learnt by rehearsing it: `loadtest_of` gives it, `check_file` what is wrong with it."""

from keyheat.simulator.rehearsal.ask import check_file, loadtest_of

__all__ = ["check_file", "loadtest_of"]
