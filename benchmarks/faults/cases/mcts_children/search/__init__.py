from search.game import Nim
from search.tree import Node

__all__ = ["Nim", "Node"]
