"""What is kept of every regress: sessions, their runs and numbers, and the ones that are pinned by name."""

from keyheat.regression.history.problem import Damaged as Damaged
from keyheat.regression.history.problem import HistoryProblem as HistoryProblem
from keyheat.regression.history.records import HistoryPoint as HistoryPoint
from keyheat.regression.history.records import Kept as Kept
from keyheat.regression.history.records import Maker as Maker
from keyheat.regression.history.records import Pin as Pin
from keyheat.regression.history.records import Pruned as Pruned
from keyheat.regression.history.records import Session as Session
from keyheat.regression.history.store import History as History
