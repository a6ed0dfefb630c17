from samerun.told import tell


def prepare(journal):
    pass


def list_watched(plan):
    return frozenset({"torch"})


def act_on_import(plan, journal, module):
    tell("record")
