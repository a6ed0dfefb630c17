class Nim:
    """Piles of stones: a move takes one, two or three from a pile; who takes the last one wins."""

    piles, largest = 3, 5
    actions = piles * 3

    def start(self):
        return (3, 4, 5)

    def moves(self, state):
        return [pile * 3 + k for pile in range(self.piles) for k in range(3) if state[pile] > k]

    def play(self, state, move):
        pile, k = divmod(move, 3)
        return tuple(n - (k + 1) * (i == pile) for i, n in enumerate(state))
