from samerun.sources.catalogue import catalogue


def selected(control):
    return [source for source in catalogue().values() if source.id in (control.only or ())]


def environment(control):
    return {"FAKE_SETTING": control.mode}
