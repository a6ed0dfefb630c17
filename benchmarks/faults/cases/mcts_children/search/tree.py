import math


class Node:
    """A position in the search; its children are kept without an order, since their scores decide."""

    def __init__(self, state, prior=1.0, move=None):
        self.state, self.prior, self.move = state, prior, move
        self.children = set()
        self.visits, self.total = 0, 0.0

    @property
    def value(self):
        return self.total / self.visits if self.visits else 0.0

    def expand(self, game, priors):
        for move in game.moves(self.state):
            self.children.add(Node(game.play(self.state, move), priors[move], move))  # fault: memory-address

    def select(self, c=1.2):
        """The child with the best upper confidence bound."""
        root = math.sqrt(self.visits)
        return max(self.children, key=lambda n: -n.value + c * n.prior * root / (1 + n.visits))  # fault: memory-address
