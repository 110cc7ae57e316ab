"""A rule from a learner's file: the class in it that has the challenge's methods."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleFailure

MODULE = "rule_of_a_learner"


def rule_in(path: Path, challenge: Challenge) -> type:
    """Raises RuleFailure, in a sentence, if there is none."""
    if not path.is_file():
        raise RuleFailure(f"There is no file {path}.")
    spec = spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise RuleFailure(f"{path} is no Python file: its name has to end in .py.")
    module = module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise RuleFailure(f"{path}, line {error.lineno}: {error.msg}.") from None
    except Exception as error:
        raise RuleFailure(f"{path}: {type(error).__name__}: {error}.") from None
    except SystemExit:
        text = f"{path} ends the program while it is loaded: take its sys.exit() out."
        raise RuleFailure(text) from None
    classes = dict.fromkeys(it for it in vars(module).values() if isinstance(it, type))
    own = [it for it in classes if it.__module__ == MODULE]
    fitting = [it for it in own if all(callable(getattr(it, n, None)) for n in challenge.methods)]
    if len(fitting) != 1:
        wanted = " and ".join(challenge.methods)
        which = "no class" if not fitting else f"{len(fitting)} classes"
        raise RuleFailure(f"{path} has {which} with {wanted}; it needs one.")
    return fitting[0]
