"""What is kept of every regress: sessions, their runs and numbers, and the ones that are pinned by name."""

from regression.history.makers import Maker as Maker
from regression.history.problem import Damaged as Damaged
from regression.history.problem import HistoryProblem as HistoryProblem
from regression.history.records import Kept as Kept
from regression.history.records import Pin as Pin
from regression.history.records import Point as Point
from regression.history.records import Pruned as Pruned
from regression.history.records import Session as Session
from regression.history.store import History as History
