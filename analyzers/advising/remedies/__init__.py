"""What a diagnosis recommends, as a change of the scenario that was run."""

from analyzers.advising.remedies.choosing import ACTIONS, chosen, remedy_of
from analyzers.advising.remedies.remedy import Asked, ByHand, Remedy

__all__ = ["ACTIONS", "Asked", "ByHand", "Remedy", "chosen", "remedy_of"]
