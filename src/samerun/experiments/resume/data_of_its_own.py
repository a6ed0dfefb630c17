"""What a checkpoint lacked where the script makes its data by itself, and no loader gives it."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.experiments.resume import advice
from samerun.experiments.resume.advice import Lack
from samerun.experiments.resume.evidence import Case


def explain_own_data(case: Case, generators: Sequence[str]) -> Lack:
    """The generators that were not restored, a position, or else what the data is taken from.

    `generators` are those drawn from whose state was not the whole run's by the difference.
    """
    step = case.difference.step
    found = case.found_elsewhere(case.difference.what)
    elsewhere = "not the whole run's" if found is None else f"what the whole run used at step {found}"
    text = f"no loader gives the data, and what it used at step {step} is {elsewhere}"
    lost = [name for name in generators if not (case.is_restored(name) or case.is_put_back(name))]
    if lost:
        names = " and ".join(lost)
        text = f"{text}; the state of {names}, from which the script may draw it, was not either"
        return Lack(f"{advice.RNG} of {names}", text, advice.advise_generators(lost))
    own = case.list_own_generators()
    if found == 0 and own:
        text = f"{text}: generators that the script makes draw from the start again ({', '.join(own)})"
        return Lack(f"{advice.RNG} of the script's own generators", text, advice.OWN_GENERATOR_ADVICE)
    if found is not None:
        text = f"{text}: a count of steps or epochs, or a generator of the script's own, was not restored"
        return Lack(advice.COUNTERS, text, advice.COUNTERS_ADVICE)
    if generators:
        text = f"{text}, though the state of {' and '.join(generators)} was restored"
    text += (
        ": it comes from what the script keeps beside (a replay buffer, an environment, a batch loaded ahead)"
    )
    return Lack(advice.OTHER, text, advice.OWN_DATA_ADVICE)
