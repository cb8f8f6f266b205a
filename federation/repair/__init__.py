"""Repair of a pending instance: at most a few moves of running ones that make room for it, or a proof that none do."""

from federation.repair.board import Board, Item, Node
from federation.repair.plan import Move, Repair, Verdict, replay
from federation.repair.search import repair

__all__ = ["Board", "Item", "Move", "Node", "Repair", "Verdict", "repair", "replay"]
