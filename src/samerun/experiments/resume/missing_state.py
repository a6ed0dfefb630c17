"""Names what a checkpoint lacked, from where the resumed run first parts from the one never stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from samerun.experiments.resume import advice
from samerun.experiments.resume.advice import Lack
from samerun.experiments.resume.data_of_its_own import explain_own_data
from samerun.experiments.resume.epoch_starts import EpochStarts
from samerun.experiments.resume.evidence import Case, Named
from samerun.experiments.resume.saved_numbers import list_differing_sizes
from samerun.experiments.tensor_digests import list_unequal
from samerun.runs.difference import Difference
from samerun.runs.store import Run
from samerun.sources.torch_cpu import TorchCpu

_SHOWN = 3
_DATA = frozenset({"batch", "input"})
_GENERATOR_BYTES = 5056  # of a state of torch's generator of the CPU
_AVERAGED = re.compile(r"[Aa]verage|EMA|Ema\b|\bema\b|Teacher")  # in the name of a module's class
_COUNTERS = (".step", "numbers")  # parts of an optimizer's state that do not depend on the gradients


def find_missing(case: Case) -> tuple[Lack, ...]:
    """What the checkpoint lacked, the reason of the first difference first.

    More is named only where it shows by itself, whatever else was lost.
    """
    difference = case.difference
    if _began_from_scratch(case):
        text = f"the resumed command started from scratch: {_describe_start(case)}"
        return (Lack(advice.EVERYTHING, text, advice.LOAD),)
    found = _explain_weights(case)
    if not found or difference.what in _DATA:
        course = difference.kind in ("flow", "ended")
        found += (_explain_course if course else _BY_RECORD.get(difference.what, _explain_course))(case)
    more = (_explain_optimizer_counters(case), _explain_buffers(case), _explain_loader_position(case))
    once: dict[str, Lack] = {}
    for lack in (*found, *more):
        if lack is not None:
            once.setdefault(lack.what, _for_each_rank(lack, case))
    return tuple(once.values())


def _for_each_rank(lack: Lack, case: Case) -> Lack:
    if not lack.what.startswith(advice.RNG) or case.whole.meta.get("world_size") in (None, 1):
        return lack
    return replace(lack, advice=f"{lack.advice}\n{advice.ON_EACH_RANK}")


def _began_from_scratch(case: Case) -> bool:
    """Whether all of it began anew: the data too, not the weights alone."""
    what = "indices" if case.difference.indices_equal is False else case.difference.what
    data_anew = case.difference.what in _DATA and case.found_elsewhere(what) == 0
    return case.position.fresh and (case.position.anew or data_anew)


# --- by the first record that differs ---------------------------------------------------------------


def _explain_data(case: Case) -> list[Lack]:
    difference = case.difference
    if difference.indices_equal is False:
        return _order(case)
    if not case.has_loader():
        return [explain_own_data(case, case.generators())]
    if difference.indices_equal is None and (lack := _explain_elsewhere(case, difference.what)):
        return [lack]
    same = "the sample indices are equal" if difference.indices_equal else "no indices are known"
    text = f"{same}, and what came of the samples is not (they were made"
    if difference.what == "input":
        return [_explain_input(case, f"{text} in the training process)")]
    if difference.in_workers:
        generators = case.generators()
        return [Lack(advice.SAMPLES, f"{text} in worker processes)", advice.advise_samples(generators))]
    return [_explain_samples(case, f"{text} in the training process)")]


def _explain_input(case: Case, text: str) -> Lack:
    """What was drawn from between the batch, which comes first and is equal, and the model."""
    lost = (name for name in case.generators() if not case.is_restored(name))
    generators = [name for name in lost if case.moves_with_samples(name)]
    if generators:
        text += f"; the state of {_list_names(generators)} was not the whole run's"
        return Lack(f"{advice.RNG} of {_list_names(generators)}", text, advice.advise_generators(generators))
    text = (
        "the batch is equal, and what the script makes of it is not: by a generator of its own, or by what "
        "it keeps, such as a counter"
    )
    return Lack(advice.OTHER, text, advice.OWN_GENERATOR_ADVICE)


def _explain_samples(case: Case, text: str) -> Lack:
    """Samples that the training process made: by a generator, or by what their data set keeps."""
    generators = [name for name in case.generators() if case.moves_with_samples(name)]
    if generators:
        text += f"; the state of {_list_names(generators)} was not the whole run's"
        return Lack(advice.SAMPLES, text, advice.advise_samples(generators))
    if drawn := case.list_drawn_with_samples():
        return _blame_dataset(drawn)
    if own := case.list_own_generators():
        text += (
            f"; they draw from no global generator, and those of the script begin again ({', '.join(own)})"
        )
        return Lack(advice.SAMPLES, text, advice.OWN_GENERATOR_ADVICE)
    return Lack(advice.SAMPLES, text, advice.advise_samples([]))


def _blame_dataset(drawn: Sequence[str]) -> Lack:
    text = (
        f"the samples draw from {_list_names(drawn)}, whose state was the whole run's, and are not equal: by "
        "what the dataset keeps (a schedule, a counter), or a generator of its own"
    )
    return Lack(advice.OTHER, text, advice.OWN_SAMPLES_ADVICE)


def _order(case: Case) -> list[Lack]:
    """Other samples: the position in the epoch, or the order itself."""
    position = _explain_loader_position(case) or _explain_elsewhere(case, "indices")
    if position is not None and case.found_elsewhere("indices") is not None:
        return [position]
    step = case.difference.step
    begins = ", where an epoch begins" if EpochStarts(case.whole).number(step) == 1 else ""
    text = f"the order of the samples at step {step}{begins} is one that the whole run never had"
    order = Lack(advice.ORDER, _name_generators(text, case), advice.ORDER_ADVICE)
    return [order] if position is None else [position, order]


def _name_generators(text: str, case: Case) -> str:
    generators = case.generators()
    return f"{text}; the state of {_list_names(generators)} was not the whole run's" if generators else text


def _explain_forward(case: Case) -> list[Lack]:
    difference = case.difference
    if difference.phase == "evaluation":
        return _explain_evaluation(case)
    if difference.what == "loss" and case.losses_equal():
        text = (
            f"the loss of step {difference.step} is equal, and the loss scaled for its backward pass is not"
        )
        return [Lack(advice.SCALER, text, advice.SCALER_ADVICE)]
    generators = [name for name in case.generators("torch-") if case.moves_in_forward(name)]
    if generators:
        text = (
            f"with equal weights and equal data, {_record(difference)} differs (dropout, noise), and at step "
            f"{difference.rng_first[generators[0]]} the state of {_list_names(generators)} is "
            "not the whole run's"
        )
        return [
            Lack(f"{advice.RNG} of {_list_names(generators)}", text, advice.advise_generators(generators))
        ]
    if lack := _explain_buffers(case):
        return [lack]
    drawn = "no generator of torch that differs is drawn from there"
    text = f"with equal trained weights and equal data, {_record(difference)} differs, and {drawn}"
    if _AVERAGED.search(difference.name or ""):
        return [Lack(advice.AVERAGES, text, advice.AVERAGES_ADVICE)]
    return [Lack(advice.OTHER, text, advice.OTHER_ADVICE)]


def _explain_evaluation(case: Case) -> list[Lack]:
    if lack := _explain_buffers(case):
        return [lack]
    if (before := case.last_equal_evaluation()) is not None:
        text = (
            f"evaluations by {case.difference.name} were equal up to step {before}, so its weights were "
            "there; they changed at another step since: a count that decides when was not restored"
        )
        return [Lack(advice.COUNTERS, text, advice.COUNTERS_ADVICE)]
    text = (
        f"every step up to {case.difference.step} is equal, and an evaluation after it is not: averaged "
        "weights, or other weights that no optimizer trains"
    )
    return [Lack(advice.AVERAGES, text, advice.AVERAGES_ADVICE)]


def _explain_gradients(case: Case) -> list[Lack]:
    step, left_out = case.difference.step, case.continued.left_out
    if frozen := case.list_frozen(step):
        text = (
            f"at step {step} only one of the runs has a gradient of {_list_some(frozen)}: which parameters "
            "are frozen (requires_grad), or the count that decides it, was not restored"
        )
        return [Lack(advice.FROZEN, text, advice.FROZEN_ADVICE)]
    if not case.accumulates():
        text = (
            f"the losses of step {step} are equal, and the gradients of its one backward pass are not: they "
            "were clipped or scaled by what the script keeps by itself, a running norm for one"
        )
        return [Lack(advice.OTHER, text, advice.OTHER_ADVICE)]
    if left_out and step == case.continued.step:
        text = (
            f"the checkpoint was written in the middle of step {step}, when {left_out} of its backward "
            "passes were done; their gradients were lost"
        )
    else:
        text = f"the losses of step {step} are equal, and the gradients are not: some were there before it"
    return [Lack(advice.GRADIENTS, text, advice.GRADIENTS_ADVICE)]


def _update(case: Case) -> list[Lack]:
    """Equal gradients, other weights: the optimizer's state, else what its groups hold."""
    step = case.difference.step
    states = case.after_step("optimizer", step)
    differing = [name for one, other in states for name in list_unequal(one, other)]
    before = case.after_step("optimizer", step - 1) if step > case.continued.step else []
    if differing and before and not any(list_unequal(one, other) for one, other in before):
        text = (
            f"with equal gradients, and an optimizer state that was equal after step {step - 1}, step {step} "
            "changed it otherwise: other settings of its groups (learning rate, momentum, betas)"
        )
        return [Lack(advice.RATE, text, advice.RATE_ADVICE)]
    if differing:
        total = sum(len(one) for one, _ in states)
        text = (
            f"with equal gradients at step {step}, {len(differing)} of {total} tensors of the optimizer's "
            f"state are not the whole run's: {_list_some(differing)}"
        )
        return [Lack(advice.OPTIMIZER, text, advice.OPTIMIZER_ADVICE)]
    state = "and equal optimizer state" if states else "(the optimizer keeps no other state)"
    text = (
        f"with equal gradients {state}, step {step} updated the weights differently: another learning "
        "rate, weight decay or setting of its groups"
    )
    return [Lack(advice.RATE, text, advice.RATE_ADVICE)]


def _explain_after_update(case: Case) -> list[Lack]:
    if case.difference.what == "buffers":
        step = case.difference.step
        text = f"after step {step} the weights are equal, and buffers are not"
        return [_describe_buffers(case, _list_shared_unequal(case.after_step("buffers", step)), text)]
    return _update(case)


def _explain_saved(case: Case) -> list[Lack]:
    whole, resumed = (Run(trace.path.parent) for trace in (case.whole, case.resumed))
    if list_differing_sizes(whole, resumed) == {_GENERATOR_BYTES}:
        text = (
            f"the training is equal, and the generator's state that it saves in {case.difference.name} is not"
        )
        if TorchCpu.id in case.difference.rng_first:
            given = advice.advise_generators([TorchCpu.id])
            return [Lack(f"{advice.RNG} of {TorchCpu.id}", text, given)]
        return [Lack(f"{advice.RNG} of the script's own generators", text, advice.OWN_GENERATOR_ADVICE)]
    text = (
        f"up to step {case.difference.step} the training is equal, and what it saves in "
        f"{case.difference.name} is not: averaged weights, generators' states, counters"
    )
    return [Lack(advice.AVERAGES, text, advice.AVERAGES_ADVICE)]


def _explain_course(case: Case) -> list[Lack]:
    """Only one of the runs has the record: a condition in the script went the other way."""
    difference = case.difference
    if difference.kind == "ended" or difference.what == "end":
        text = f"one of the runs ended after step {difference.step}, and the other did not"
    else:
        text = f"at step {difference.step} only one of the runs has {_record(difference)}"
    return [Lack(advice.COUNTERS, text, advice.COUNTERS_ADVICE)]


_BY_RECORD: dict[str, Callable[[Case], list[Lack]]] = {
    "batch": _explain_data,
    "input": _explain_data,
    "output": _explain_forward,
    "loss": _explain_forward,
    "gradients": _explain_gradients,
    "parameters": _update,
    "optimizer": _explain_after_update,
    "buffers": _explain_after_update,
    "saved": _explain_saved,
}


# --- what shows by itself ----------------------------------------------------------------------------


def _explain_weights(case: Case) -> list[Lack]:
    """The weights, where they are those of the start or of no step of the whole run."""
    if case.position.fresh:
        return [Lack(advice.WEIGHTS, _describe_start(case), advice.WEIGHTS_ADVICE)]
    if case.position.by in ("weights", "first step"):
        return []
    step = case.position.step
    differing, total = [], 0
    for one, other in case.before_first():
        total += len(one)
        differing += list_unequal(one, other)
    if not differing:  # they were not seen before the first step
        return []
    text = "its weights before its first step are those of no step of the whole run"
    held = f"compared with those after step {step - 1}, {len(differing)} of {total} tensors differ"
    return [Lack(advice.WEIGHTS, f"{text}; {held}: {_list_some(differing)}", advice.WEIGHTS_ADVICE)]


def _describe_start(case: Case) -> str:
    written = f"though a checkpoint was written after step {case.position.step - 1}"
    return f"its weights before its first step are those of the very start, {written}"


def _explain_optimizer_counters(case: Case) -> Lack | None:
    """An optimizer that counts its steps, and counted anew."""
    step = case.continued.step
    frozen = case.list_frozen(step)
    for one, other in case.after_step("optimizer", step):
        unequal = [name for name in list_unequal(one, other) if name.endswith(_COUNTERS)]
        # An optimizer does not count steps of what has no gradient.
        counters = [name for name in unequal if name.rpartition(".")[0] not in frozen]
        if counters:
            text = (
                f"the optimizer's count of steps is not the whole run's after step {step}: "
                f"{_list_some(counters)}"
            )
            return Lack(advice.OPTIMIZER, text, advice.OPTIMIZER_ADVICE)
    return None


def _explain_buffers(case: Case) -> Lack | None:
    """Buffers that were not the whole run's before the first step, nor after it."""
    step = case.continued.step
    after = _list_shared_unequal(case.after_step("buffers", step))
    wrong = [name for name in list_unequal(*case.buffers_before_first()) if name in after]
    if not wrong:
        return None
    return _describe_buffers(
        case, wrong, f"buffers before its first step are not the whole run's after step {step - 1}"
    )


def _describe_buffers(case: Case, names: Sequence[str], text: str) -> Lack:
    """Buffers that are not the whole run's: the model's, or those of a model beside it."""
    beside = case.evaluated_only()
    trained = [name for name in names if name.partition(".")[0] not in beside]
    if names and not trained:
        text += f": {_list_some(names)}, of a model that only evaluations call"
        return Lack(advice.AVERAGES, text, advice.AVERAGES_ADVICE)
    named = _list_some(trained) if trained else case.difference.name
    return Lack(advice.BUFFERS, f"{text}: {named}", advice.BUFFERS_ADVICE)


def _list_shared_unequal(pairs: Sequence[tuple[Named, Named]]) -> list[str]:
    return [
        name for one, other in pairs for name in list_unequal(one, other) if name in one and name in other
    ]


def _explain_loader_position(case: Case) -> Lack | None:
    """A loader that began its epoch anew, where the whole run was in the midst of it."""
    if case.difference.indices_equal is not False or case.difference.step != case.continued.step:
        return None
    step = case.continued.step
    whole, resumed = EpochStarts(case.whole), EpochStarts(case.resumed)
    there, here = whole.number(step), resumed.number(0)
    if there is None or here is None or there == here:
        return None
    found = case.found_elsewhere("indices")
    if found is not None and whole.number(found) == there:
        return None  # the same place in another epoch: a sampler that left out what was done
    if found is None and (whole.rest(step) is None or whole.rest(step) != resumed.rest(0)):
        return None  # what is left of an epoch can be a loader's pass of its own, counted from 1
    text = f"it went on with batch {here} of an epoch, where the whole run was at batch {there} (step {step})"
    if found is not None:
        text += f"; that batch was the whole run's at step {found}"
    return Lack(advice.POSITION, text, advice.POSITION_ADVICE)


def _explain_elsewhere(case: Case, what: str) -> Lack | None:
    """Data that the whole run had at another step."""
    found = case.found_elsewhere(what)
    if found is None:
        return None
    step, whole = case.difference.step, EpochStarts(case.whole)
    text = f"what it used at step {step} is what the whole run used at step {found}"
    if whole.number(step) == whole.number(found) == 1:
        between = (whole.number(at) for at in range(found + 1, step))
        if 1 not in between and (found or not case.generators()):  # seeded anew, it has the first order again
            text = f"it trains the epoch again that was finished, that of steps {found} to {step - 1}"
            return Lack(advice.COUNTERS, text, advice.EPOCH_ADVICE)
        text = f"{text}: both begin an epoch, and it had the order of another one"
        if found == 0:  # a generator that is seeded anew has the first order again
            text = _name_generators(text, case)
        return Lack(advice.ORDER, text, advice.ORDER_ADVICE)
    if what == "indices" and whole.number(step) is not None and whole.number(step) == whole.number(found):
        text = f"{text}: the same place in another epoch, whose order it had"
        return Lack(advice.ORDER, text, advice.ORDER_ADVICE)
    return Lack(advice.POSITION, text, advice.POSITION_ADVICE)


# --- words -------------------------------------------------------------------------------------------


def _record(difference: Difference) -> str:
    return f"{difference.what} {difference.name or ''}".strip()


def _list_names(names: Sequence[str]) -> str:
    return " and ".join(names)


def _list_some(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
