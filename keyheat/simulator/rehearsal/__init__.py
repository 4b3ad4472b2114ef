"""What a load test sends, learnt by rehearsing it: `loadtest_of`; what is assumed of that: `assumptions_of`.

What is wrong with it: `check_file`.
"""

from keyheat.simulator.rehearsal.ask import assumptions_of, check_file, loadtest_of

__all__ = ["assumptions_of", "check_file", "loadtest_of"]
