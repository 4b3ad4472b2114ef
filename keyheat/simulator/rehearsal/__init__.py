"""What a load test sends, learnt by rehearsing it: `loadtest_of`; and what is wrong with it: `check_file`."""

from keyheat.simulator.rehearsal.ask import check_file, loadtest_of

__all__ = ["check_file", "loadtest_of"]
