class Journal:
    def __init__(self, plan):
        self.plan = plan

    def note(self, what, name, **rest):
        pass

    def from_user(self):
        return True
