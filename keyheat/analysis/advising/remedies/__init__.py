"""What a diagnosis recommends, as a change of the scenario that was run."""

from keyheat.analysis.advising.remedies.choosing import ACTIONS, chosen, remedy_of
from keyheat.analysis.advising.remedies.remedy import Asked, ByHand, Remedy

__all__ = ["ACTIONS", "Asked", "ByHand", "Remedy", "chosen", "remedy_of"]
