from samerun.sources.catalogue import find_sources


def selected(control):
    return [source for source in find_sources().values() if source.id in (control.only or ())]


def environment(control):
    return {"FAKE_SETTING": control.mode}
