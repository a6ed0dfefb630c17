from samerun.sources.catalogue import find_sources


def select_sources(control):
    return [source for source in find_sources().values() if source.id in (control.only or ())]


def build_environment(control):
    return {"FAKE_SETTING": control.mode}
