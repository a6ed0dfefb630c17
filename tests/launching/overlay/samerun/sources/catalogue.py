import sys

from samerun.errors import TooLate
from samerun.sources.source import Source
from samerun.told import tell


class Fake(Source):
    def __init__(self, id, hooks_into=""):
        self.id = id
        self.hooks_into = hooks_into

    def observe(self, journal):
        if self.id == "broken":
            raise RuntimeError("the fake is broken")
        top = sys.modules.get(self.hooks_into.partition(".")[0])
        tell(f"observe {self.id}" + (" complete" if getattr(top, "complete", False) else ""))

    def control(self, control):
        if self.id.startswith("late"):
            raise TooLate(f"{self.id} cannot be set any more; set it before the start")
        tell(f"control {self.id}")


def find_sources():
    fakes = [
        Fake("start"),
        Fake("broken"),
        Fake("late-start"),
        Fake("late-torch", "torch"),
        Fake("torch-cpu", "torch"),
        Fake("loader", "torch.utils.data"),
        Fake("queue", "queue"),
    ]
    return {fake.id: fake for fake in fakes}
