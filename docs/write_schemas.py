"""Writes docs/schema/: a JSON Schema (2020-12) for the `--json` of each verb, each file complete in itself.

python docs/write_schemas.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

from samerun.experiments.check.result import Verdict
from samerun.experiments.verify.changed import Kind as ChangedKind
from samerun.experiments.verify.result import Answer
from samerun.runs.difference import Kind
from samerun.runs.plan import Mode
from samerun.runs.schema import COMPARED, PHASES, RESULTS, SCHEMA
from samerun.sources.source import Kind as SourceKind

FOLDER = Path(__file__).resolve().parent / "schema"
ADDRESS = "https://raw.githubusercontent.com/samerun/samerun/main/docs/schema/"

Schema = dict[str, Any]


def text(about: str, *values: str) -> Schema:
    """A string; one of `values` where any are given."""
    return {"description": about, "type": "string", **({"enum": list(values)} if values else {})}


def integer(about: str) -> Schema:
    """A whole number that is not negative: a count or an index."""
    return {"description": about, "type": "integer", "minimum": 0}


def number(about: str) -> Schema:
    """A finite number."""
    return {"description": about, "type": "number"}


def flag(about: str) -> Schema:
    """True or false."""
    return {"description": about, "type": "boolean"}


def array(about: str, item: Schema) -> Schema:
    """A list of alike items."""
    return {"description": about, "type": "array", "items": item}


def fixed(about: str, *items: Schema) -> Schema:
    """A list of so many items."""
    return {
        "description": about,
        "type": "array",
        "prefixItems": list(items),
        "minItems": len(items),
        "items": False,
    }


def record(about: str, properties: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "description": about,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def mapping(about: str, value: Schema, keys: str | None = None) -> Schema:
    """An object whose keys are data; `keys` is a pattern for them."""
    if keys is None:
        return {"description": about, "type": "object", "additionalProperties": value}
    inner = {"patternProperties": {keys: value}, "additionalProperties": False}
    return {"description": about, "type": "object", **inner}


def shared(name: str, about: str) -> Schema:
    """One of SHARED, by reference."""
    return {"description": about, "$ref": f"#/$defs/{name}"}


def or_null(schema: Schema) -> Schema:
    """This, or null."""
    if "enum" in schema:
        return {**schema, "type": ["string", "null"], "enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    inner = {key: value for key, value in schema.items() if key != "description"}
    return {"description": schema["description"], "anyOf": [inner, {"type": "null"}]}


ID = text("The id of a run: the name of its folder.")
WORD = text("One word.")
LINE = text("One line.")
SOURCE = text("The id of a source, which is the name of its page in docs/explanations.")
SITE = or_null(text("file:line of the user's code, relative to the working directory; null: not known."))
VERSION = {"description": "The version of these keys.", "const": SCHEMA}
COMMAND = array("The command, word by word.", WORD)
NOTES = array("What else is to be known, one sentence each.", LINE)
OUTPUT = array("The last lines that a command printed which failed.", LINE)
REASON = or_null(text("Why nothing can be concluded; null where something can."))
STEPS = integer("Optimizer steps that were compared.")
RUNS = array("The ids of the runs that were compared, in order.", ID)
IN_PLAY = flag("Whether the run used it at all; false: nothing can be concluded from it.")
PAIR = fixed("The ids of two runs.", ID, ID)
LOSS = {
    "description": "A loss, as a number, or by its name where JSON has none.",
    "anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}],
}


def verdict(about: str) -> Schema:
    """One of the three verdicts."""
    return text(about, *get_args(Verdict))


OF_RUNS = verdict(
    "same: equal bits in all that `scope` names; differs: they are not; unknown: nothing could be compared."
)


def causes(about: str) -> Schema:
    """A list of causes."""
    return array(about, shared("cause", "One source."))


def pairs(about: str) -> Schema:
    """A list of factors of `vary`."""
    return array(about, fixed("A source, and how it was changed.", SOURCE, text("The change, in words.")))


COMPARISON = {
    "schema": VERSION,
    "verdict": OF_RUNS,
    "runs": RUNS,
    "steps": STEPS,
    "first_difference": or_null(
        shared("place", "Where the runs part first; null unless the verdict is differs.")
    ),
    "causes": causes("What is behind the first difference, the best first; read `confirmed` of each."),
    "suspects": causes("Not needed to explain the first difference, but worth a look."),
    "ruled_out": causes("What was tried: runs with it controlled, or replayed, still differ there."),
    "scope": text("What was compared, as a phrase for people."),
    "reason": or_null(text("Why the verdict is unknown; null where it is not.")),
    "losses": array(
        "For each run its losses.",
        mapping("The losses of each step, by its number.", array("In order.", LOSS), "^[0-9]+$"),
    ),
    "notes": NOTES,
    "output": OUTPUT,
    "pair": or_null({**PAIR, "description": "The two runs that `first_difference` is of; null: none."}),
    "command": COMMAND,
    "verdicts": array("Of each run but the first, compared with the first.", OF_RUNS),
    "in_play": array(
        "Sources that were used, and neither controlled nor seen to make a difference in these runs.", SOURCE
    ),
    "ignored": array(
        "What the user's settings ignore, and was therefore not compared.",
        record(
            "A record or a result.",
            {
                "what": text("Its kind.", *COMPARED, *RESULTS),
                "name": text("Its name."),
                "reason": text("Why it may differ, in the user's words."),
            },
        ),
    ),
    "parted": or_null({**PAIR, "description": "The two of `runs` that part first; null: none."}),
}

DISTANCE = record(
    "How far the two runs are from each other after one step.",
    {
        "step": integer("The optimizer step, from 0 on."),
        "differing": integer("Parameters whose bits differ; groups, where only these have a digest."),
        "parameters": integer("Parameters, or groups, that were compared."),
        "loss": or_null(number("Relative difference of the step's last loss; null: no finite loss.")),
        "largest_ulps": or_null(number("The largest, in units in the last place; null: not sampled.")),
        "median_ulps": or_null(number("The median of the elements that differ; null: not sampled.")),
        "elements": integer("Sampled elements that differ."),
        "sampled": integer("Elements that were sampled."),
        "of": integer("Elements of all parameters."),
    },
)
GROWTH = record(
    "How the difference lives on.",
    {
        "distances": array("One for each step from the first difference on.", DISTANCE),
        "alive": or_null(flag("Whether weights or buffers differ at the end; null: neither was recorded.")),
        "healed_at": or_null(integer("The step from which on nothing differs; null: it never heals.")),
        "reached_weights_at": or_null(
            integer("The first step after which weights differ; null: it never does.")
        ),
    },
)
DRAWS = record(
    "The draws of one line from one generator in one step.",
    {
        "generator": text("The id of its source; torch-cpu:generator is one that the script made."),
        "step": integer("The optimizer step; in a DataLoader worker, the number of its batch."),
        "process": text("The name of the process in the run, such as rank0.worker1."),
        "call_site": SITE,
        "function": or_null(text("What drew; null: not known.")),
        "draws_a": integer("Draws in the first run."),
        "draws_b": integer("Draws in the second run."),
        "state_differs": or_null(
            flag("Whether its state differed before the first of these draws; null: not known.")
        ),
        "values_differ": flag("Whether what came out differs."),
    },
)
ALONE = record(
    "The operation of equal inputs and other outputs, run again by itself.",
    {
        "op": text("The operation."),
        "step": integer("The optimizer step, from 0 on."),
        "phase": text("The part of the step.", *PHASES),
        "module": or_null(text("The module whose forward was running; null: none.")),
        "call_site": SITE,
        "ways": array(
            "One for each way in which it was run again; none where its inputs could not be kept.",
            record(
                "One way.",
                {
                    "way": text("The way, in words."),
                    "runs": integer("How often it was run."),
                    "distinct": integer("How many different results came."),
                    "equal": integer("How many results are the one that the training had."),
                    "error": or_null(text("Why it did not run; null: it did.")),
                },
            ),
        ),
        "why": text("Why ways are missing; empty: none is."),
    },
)
FOUND = record(
    "One first difference, and what is behind it.",
    {
        "difference": shared("place", "Where two runs part."),
        "pair": {**PAIR, "description": "The runs that part there."},
        "causes": causes("Several where they are needed together; none where no source explains it."),
        "proof": or_null(
            record(
                "The further runs that show the cause; null: there are none.",
                {
                    "runs": array("Their ids.", ID),
                    "controlled": array("The sources that were controlled in them.", SOURCE),
                    "way": text(
                        "How the cause was controlled: patch is an edit of the code, fresh a fresh folder.",
                        *("control", "replay", "patch", "fresh"),
                    ),
                    "agree_until": or_null(
                        integer("The step at which these runs part; null: they agree to their end.")
                    ),
                    "steps": integer("Optimizer steps that they completed."),
                },
            )
        ),
        "ruled_out": causes("What was tried, and is not the cause."),
        "growth": or_null(GROWTH),
        "ledger": array("The draws of random numbers around the difference.", DRAWS),
        "notes": NOTES,
        "alone": or_null(ALONE),
    },
)
PATCH = record(
    "Edits of the user's code that control what was found.",
    {
        "diff": text("Unified, for `git apply` in the working directory; empty: no edit is enough."),
        "cannot": mapping("Sources that no edit controls, and what does.", text("What to do instead.")),
        "verified": or_null(
            flag("Whether two runs of the patched code are the same; null: it was not tried.")
        ),
        "runs": array("The ids of the runs that verified it.", ID),
        "partial": text("Edits that can be made, where they are not enough; empty otherwise."),
        "costs": array(
            "What is paid for the edits, beside equal bits.", text("Such as threads one after another.")
        ),
    },
)
DIAGNOSIS = {
    **COMPARISON,
    "causes": causes("All that were found, in the order of `found`; read `confirmed` of each."),
    "found": array(
        "Each first difference, one after the other: the next once the last is controlled.", FOUND
    ),
    "complete": flag("Whether, with every cause controlled, runs agree to their end."),
    "patch": or_null(PATCH),
    "confidence": or_null(text("What so many equal runs prove, in words; null: nothing to say.")),
    "recorded": integer("How many runs were recorded in all."),
}

RERUN = {
    **COMPARISON,
    "runs": array("The ids of the recorded run and of this one.", ID),
    "parted": array(
        "Where the program was not given what the recorded run had.",
        record(
            "One place.",
            {
                "source": SOURCE,
                "name": text("What was asked, such as time.time."),
                "call_site": SITE,
                "why": text("Why it was not given."),
            },
        ),
    ),
    "of": text("The id of the recorded run."),
    "given": array("The sources that gave what they gave then.", SOURCE),
    "changed": causes("What is not as it was outside of the run: code, input files, packages, …"),
    "unreplayed": array(
        "Sources in play that were not replayed.",
        record(
            "One source.",
            {
                "source": SOURCE,
                "uses": array(
                    "Each use of it.",
                    record("One use.", {"name": text("What was called."), "call_site": SITE}),
                ),
                "why": text("Why it was not replayed."),
            },
        ),
    ),
    "printed_alike": flag("false: the same bits, but what was printed is not the same."),
}
RESUME = {
    **COMPARISON,
    "steps": integer("Optimizer steps that were compared, after the last resume."),
    "runs": array("The ids of all runs that were recorded, in order.", ID),
    "roles": array("What was done with each of `runs`, in words.", LINE),
    "resume_with": array("The words of the command that resumes; none: the command itself.", WORD),
    "kill_at": array("The steps before which it was killed.", integer("An optimizer step, from 0 on.")),
    "resumed_at": array(
        "For each of these, the step of the whole run that it went on from.", integer("An optimizer step.")
    ),
    "lacked": array(
        "What the checkpoint lacked, the reason of the first difference first.",
        record(
            "One thing that was not restored.",
            {
                "what": text("Its name, in a word or two."),
                "evidence": text("How one can tell."),
                "advice": text("The lines that save it."),
            },
        ),
    ),
}

EFFECT = record(
    "One source, changed in one way.",
    {
        "source": SOURCE,
        "variant": text("How it was changed, in words."),
        "verdict": verdict("differs: the result depends on it; same: it did not in these runs."),
        "in_play": IN_PLAY,
        "weights_only": flag("Whether only the weights were compared, since the change renames operations."),
        "first_difference": or_null(shared("place", "Where it shows first; null: it does not.")),
        "size": record(
            "How large the difference is.",
            {
                "loss_step": or_null(integer("The first step whose loss differs; null: none does.")),
                "loss_ulps": or_null(number("Of that loss, in units in the last place of float32.")),
                "final_losses": or_null(
                    fixed("Of the last step that both made: unchanged, changed.", LOSS, LOSS)
                ),
                "weights_ulps": or_null(
                    number("The largest, of the first weights that differ, in units in the last place.")
                ),
            },
        ),
        "repeats": or_null(flag("Whether two runs with the change agree with each other; null: not known.")),
        "reason": or_null(text("Why the verdict is unknown; null where it is not.")),
        "runs": array("The ids of the runs with the change.", ID),
    },
)
VARY = {
    "schema": VERSION,
    "verdict": verdict("differs: the result depends on something; same: on nothing that was tried."),
    "runs": array("The ids of the unchanged runs, which all others are compared with.", ID),
    "steps": STEPS,
    "mode": or_null(text("The mode of every run; null: nothing was controlled.", *get_args(Mode))),
    "scope": text("What was compared, as a phrase for people."),
    "reason": REASON,
    "factors": array("Each change that was tried, and what it did.", EFFECT),
    "together": pairs("Changes that have an effect only together; none: there are no such."),
    "untried": pairs("Changes that were not tried, for lack of time or after the first dependence."),
    "notes": NOTES,
    "output": OUTPUT,
    "command": COMMAND,
}

RATIO = or_null(
    record(
        "The time of a step, divided by that of the command left alone; null: not measured.",
        {
            "ratio": number("The mean; 1.2 is 20 % slower."),
            "low": number("The lower end of its interval at 95 %."),
            "high": number("The upper end of its interval at 95 %."),
        },
    )
)
COST = {
    "schema": VERSION,
    "verdict": verdict("That of the cheapest configuration found: whether its runs are the same."),
    "rounds": integer("How often each way was measured."),
    "seconds_a_step": or_null(
        number("Seconds: the median of a step of the command left alone; null: not measured.")
    ),
    "prices": array(
        "One for each way to run the command.",
        record(
            "One way.",
            {
                "name": text(
                    "The mode, the tier or the source; nothing is the command once more: the noise."
                ),
                "what": text("What was done, in words."),
                "step": RATIO,
                "pairs": array("The ratio of each round.", number("A ratio.")),
                "buys": or_null(text("What one has from it, for this command; null: not known.")),
                "reason": or_null(text("Why it could not be priced; null: it was.")),
            },
        ),
    ),
    "choices": array(
        "Configurations to choose from.",
        record(
            "One configuration.",
            {
                "name": text("Its name.", "fast", "repeatable", "cheapest"),
                "how": text("The command line or the call that gives it."),
                "verdict": verdict("Whether runs under it are the same."),
                "runs": integer("How many runs this rests on."),
                "step": RATIO,
            },
        ),
    ),
    "reason": REASON,
    "notes": NOTES,
    "output": OUTPUT,
    "command": COMMAND,
}

SPREAD = record(
    "The metric with only these seeds changed.",
    {
        "source": text(
            "The id of the source; kernels is what is left with every seed fixed, together is all."
        ),
        "what": text("What it is, in words."),
        "in_play": flag("false: other seeds gave the same run, bit for bit."),
        "spread": or_null(
            record(
                "The variance of the metric; null: too few runs finished.",
                {
                    "variance": number("The variance, in the metric's unit squared."),
                    "low": number("The lower end of its interval at 95 %."),
                    "high": number("The upper end of its interval at 95 %."),
                    "count": integer("How many values it rests on."),
                    "deviation": number("The standard deviation, in the metric's unit."),
                },
            )
        ),
        "seeds": array("The seeds that gave a value.", integer("A seed.")),
        "values": array("The metric for each of `seeds`.", number("The metric.")),
    },
)
LUCK = record(
    "One seed among the others; null: too few.",
    {
        "seed": integer("The seed."),
        "value": number("Its metric."),
        "deviations": number("How many standard deviations it is from the mean."),
        "expected": number("How many the best of so many has by chance alone."),
    },
)
STUDY = {
    "schema": VERSION,
    "complete": flag("Whether every run gave its metric: exit code 0, and 3 where not. There is no verdict."),
    "reason": REASON,
    "metric": text("The pattern that finds the metric in what the command prints."),
    "higher_is_better": flag("Which way the metric is better."),
    "seeds": integer("How many seeds each source was given."),
    "sources": array("Each source alone.", SPREAD),
    "together": or_null(SPREAD),
    "mean": or_null(
        fixed(
            "Of all together: the mean and its interval at 95 %; null: too few values.",
            number("The mean."),
            number("The lower end."),
            number("The upper end."),
        )
    ),
    "sum": or_null(
        record(
            "Whether the variances of the sources make up that of all together; null: not known.",
            {
                "parts": number("The sum of the sources' variances."),
                "together": number("The variance with all of them changed."),
                "interaction": number("The rest: together - parts."),
                "low": number("The lower end of the rest's interval at 95 %."),
                "high": number("The upper end of the rest's interval at 95 %."),
                "adds_up": flag("Whether that interval holds zero."),
            },
        )
    ),
    "best": or_null(LUCK),
    "worst": or_null(LUCK),
    "seeds_needed": array(
        "How many seeds make the mean so precise.",
        fixed(
            "A precision and a count.",
            number("Half of the interval's width."),
            or_null(integer("Seeds; null: more than can be run.")),
        ),
    ),
    "against": array("The second command, word by word; none: there is none.", WORD),
    "paired": or_null(
        record(
            "The command (A) compared with `against` (B), seed by seed; null: there is no second command.",
            {
                "count": integer("Seeds that both have."),
                "difference": number("The mean of A - B."),
                "low": number("The lower end of its interval at 95 %."),
                "high": number("The upper end of its interval at 95 %."),
                "p": number("How often chance alone gives a mean as far from zero."),
                "beats": number("The probability that A is better than B for the same seed."),
                "beats_low": number("The lower end of its interval at 95 %."),
                "beats_high": number("The upper end of its interval at 95 %."),
                "ties": integer("Seeds for which both are equal."),
                "differs": flag("Whether p is below 0.05."),
            },
        )
    ),
    "seeds_needed_for_difference": or_null(
        integer("Seeds that would tell the difference seen from none; null: not known, or too many.")
    ),
    "made": integer("Runs that were made."),
    "known": integer("Runs that had finished in an earlier study."),
    "notes": NOTES,
    "command": COMMAND,
}

LOCK = {
    **COMPARISON,
    "verdict": verdict("same: it is locked; differs: the two runs are not the same; unknown: not locked."),
    "reason": or_null(text("Why the verdict is unknown: nothing could be compared, or locked; else null.")),
    "lock": or_null(text("The path of the lock; null: none was made.")),
    "environment": or_null(text("The id of this class of machine in the lock; null: none was made.")),
    "left_out": array("Quantities that differ from run to run without effect, and are not locked.", WORD),
    "negative_control": or_null(
        record(
            "The bit that was inverted to see that it would be noticed; null: no lock was made.",
            {
                "step": integer("The optimizer step, from 0 on."),
                "quantity": text("Of what."),
                "bit": integer("Of 128, which."),
            },
        )
    ),
    "bounds": or_null(
        record(
            "How far results move on other machines; null: not measured (--bounds).",
            {
                "loss": number("The largest relative distance of a loss."),
                "metrics": mapping("That of each metric, by its name.", number("A relative distance.")),
                "factors": array("What was changed to measure it, in words.", LINE),
            },
        )
    ),
    "moved": or_null(
        array("With --update: what is not as it was locked; null: no update.", shared("moved", "One."))
    ),
    "unmoved": array("With --update: the quantities that are as they were.", WORD),
}
BISECT = record(
    "The first commit that moved a bit; null: it was not looked for.",
    {
        "commit": or_null(text("Its id; null: none was found, or it is not committed.")),
        "subject": or_null(text("The first line of its message.")),
        "files": array("The files that it changed.", text("A path.")),
        "candidates": array("It is one of these, where those between could not be run.", text("Its id.")),
        "tried": array(
            "Each commit that was run.",
            record(
                "One commit.",
                {
                    "commit": text("Its id."),
                    "verdict": text("What verify answered there; failed: it could not be run."),
                },
            ),
        ),
        "reason": or_null(text("Why no commit is named; null: one is.")),
    },
)
VERIFY = {
    "schema": VERSION,
    "verdict": text(
        "same bits; within the bounds of the lock, not the same bits; differs; unknown; stale: the lock is "
        "of another command, or of other inputs.",
        *get_args(Answer),
    ),
    "lock": text("The path of the lock."),
    "run": or_null(text("The id of the run; null: nothing was run (--static, or stale).")),
    "command": COMMAND,
    "environment": or_null(text("The id of this class of machine; null: nothing was run.")),
    "locked_environment": or_null(text("The id of the one that it was compared with; null: with none.")),
    "steps": STEPS,
    "first_step": integer("The first step that was compared: above 0 with --from-checkpoint."),
    "at": or_null(array("The single steps that were compared; null: all.", integer("An optimizer step."))),
    "quantities": array("What was compared.", WORD),
    "reason": or_null(text("Why it is unknown or stale; null where it is not.")),
    "moved": array("What is not as it was locked, the first first.", shared("moved", "One quantity.")),
    "changed": array(
        "What is not as it was when the lock was made, whether or not it has an effect.",
        record(
            "One thing.",
            {
                "kind": text("What it is.", *get_args(ChangedKind)),
                "name": text("A path, a package, a variable."),
                "text": text("What it was, and what it is."),
                "call_site": SITE,
                "confirmed": flag(
                    "Whether a run with it as locked, and all else as now, gives the locked bits. Of a file: "
                    "with the places that `text` and `call_site` are about."
                ),
                "ruled_out": flag("Whether a run with it as locked gives the same bits as a run without."),
            },
        ),
    ),
    "distances": array(
        "How far results are from the locked ones, where the lock has bounds.",
        record(
            "One result.",
            {
                "name": text("Its name."),
                "distance": number("The relative distance."),
                "bound": number("The largest that the lock allows."),
            },
        ),
    ),
    "factors": array("What the bounds were measured with, in words.", LINE),
    "compared": or_null(
        shared(
            "comparison", "The locked run and this one; null: the locked run is not at hand, or not needed."
        )
    ),
    "unsteady": or_null(
        shared("comparison", "Two runs of now, where these are not the same either; null otherwise.")
    ),
    "bisect": or_null(BISECT),
    "counted": or_null(
        record(
            "With --static: how many of each were compared; null: a run was made.",
            {
                "code": integer("Files of code."),
                "inputs": integer("Input files."),
                "packages": integer("Packages."),
            },
        )
    ),
    "notes": NOTES,
    "output": OUTPUT,
    "added": flag("Whether this class of machine was added to the lock (--add)."),
}

SHARED = {
    "place": record(
        "Where two runs part.",
        {
            "step": integer("The optimizer step, from 0 on, in which it shows first."),
            "phase": text("The part of the step.", *PHASES),
            "what": text("What kind of record, or of result, differs.", *COMPARED, *RESULTS),
            "module": or_null(text("The dotted path of the module whose forward was running; null: none.")),
            "op": or_null(text("The operation, such as aten.index_put_; null: not an operation.")),
            "call_site": SITE,
            "rank": integer("The rank of the process."),
            "name": or_null(
                text("The parameter, group, operation, line of output or value; null: it has none.")
            ),
            "kind": text(
                "value: other bytes; order: the same in another order; flow: only one run has it; "
                "ended: one run stopped early.",
                *get_args(Kind),
            ),
        },
    ),
    "cause": record(
        "A source that is, or may be, behind a difference.",
        {
            "source": SOURCE,
            "confirmed": flag(
                "true: further runs with it controlled, or replayed, do not part there. false: likely alone."
            ),
            "advice": text("Lines of code that control it."),
            "evidence": text("One sentence with the values seen."),
            "call_site": SITE,
            "together": flag("Whether it is confirmed only together with the other confirmed causes."),
            "replayed": flag("Whether it was confirmed by runs that were given what the recorded run had."),
            "unsettled": or_null(
                text(
                    "Confirmed by runs that had this and differ, where those left alone agree; null: not so."
                )
            ),
        },
    ),
    "moved": record(
        "A quantity or a result that is not the locked one.",
        {
            "quantity": text("Its name."),
            "step": or_null(
                integer("The first step that is seen to differ; null: it is of no step, or not known.")
            ),
            "after": or_null(integer("The last step before it that is seen to be equal; null: none.")),
            "exact": flag("Whether every step between was compared."),
        },
    ),
    "comparison": record("As the JSON of samerun check.", COMPARISON),
}

LEAF = record(
    "One name that is not the same in both.",
    {
        "name": text("Its path in the file."),
        "what": text(
            "Where it differs.",
            *("only in A", "only in B", "kind", "dtype", "shape", "values", "value", "unread"),
        ),
        "a": or_null(text("What A has; null: nothing.")),
        "b": or_null(text("What B has; null: nothing.")),
        "first": or_null(
            array("Index of the first element that differs; null: no tensors of one shape.", integer("One."))
        ),
        "first_a": or_null(text("That element in A.")),
        "first_b": or_null(text("That element in B.")),
        "differing": or_null(integer("Elements that differ.")),
        "elements": or_null(integer("Elements of the tensor.")),
        "ulps": or_null(
            integer("The largest distance, in units in the last place; null: no finite floats differ.")
        ),
        "relative": or_null(
            number("The length of the difference in relation to that of A; null: A is zero, or not finite.")
        ),
    },
)
FILES = {
    "schema": VERSION,
    "verdict": verdict("same: equal bits under every name; unknown: nothing, or not all, could be compared."),
    "reason": or_null(text("Why it is unknown; null where it is not.")),
    "files": fixed("The two paths.", text("A."), text("B.")),
    "tensors": integer("Names of tensors that are in one of them or both."),
    "values": integer("Names of plain values."),
    "elements": integer("Elements of tensors that were compared one by one."),
    "differing_tensors": integer("Tensors that differ, or that only one has."),
    "differing_values": integer("Values that differ, or that only one has."),
    "differences": array("Each name that is not the same in both.", LEAF),
    "notes": NOTES,
}
ENV = {
    "schema": VERSION,
    "sources": mapping(
        "Every source, by its id.",
        record(
            "One source, here and now.",
            {
                "kind": text("What kind of source it is.", *(kind.value for kind in SourceKind)),
                "in_play": flag("Whether it can act in this environment at all."),
                "says": {"description": "What it is set to; keys differ by source.", "type": "object"},
                "error": or_null(text("Why it could not describe itself; null: it did.")),
            },
        ),
        "^[a-z0-9-]+$",
    ),
}

VERBS = {
    "check": ("runs of one command, compared bit for bit", COMPARISON),
    "diagnose": ("every reason for which runs of one command differ, and a patch", DIAGNOSIS),
    "diff": ("two recorded runs, compared", COMPARISON),
    "diff-files": ("two checkpoints or files of tensors, compared", FILES),
    "vary": ("what the result of a command depends on", VARY),
    "cost": ("what reproducibility costs, for one command", COST),
    "study": ("how much of a metric is due to chance", STUDY),
    "resume": ("a run that was killed and resumed, compared with one that was not", RESUME),
    "rerun": ("a recorded run, run again with what its sources gave then", RERUN),
    "lock": ("two runs, compared, and the lock that was made of them", LOCK),
    "verify": ("a run, compared with a lock", VERIFY),
    "env": ("every source on this machine", ENV),
}


def build_schema(name: str) -> Schema:
    """The schema of one verb, with those of SHARED that it needs."""
    about, properties = VERBS[name]
    needed = find_shared(properties)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}{name}.json",
        "title": f"samerun {name.replace('-files', ' FILE FILE')} --json",
        **record(f"{about[0].upper()}{about[1:]}.", properties),
        **({"$defs": {key: SHARED[key] for key in SHARED if key in needed}} if needed else {}),
    }


def find_shared(schema: Any) -> set[str]:
    """The names of SHARED that a schema refers to, also by way of others."""
    found = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    return found.union(*(find_shared(SHARED[name]) for name in found))


def format_schemas() -> dict[str, str]:
    """What each file is to hold, by its name."""
    return {
        f"{name}.json": json.dumps(build_schema(name), indent=1, ensure_ascii=False) + "\n" for name in VERBS
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, content in format_schemas().items():
        (FOLDER / file).write_text(content, encoding="utf-8")
