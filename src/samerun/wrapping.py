"""The one way to put something of ours in the place of a callable of torch, NumPy or Python.

What stands in takes whatever it is given and passes it on untouched, so that no call can fail, or mean
something else, for how its arguments were given: by position, by name, too many. It names none of them. What
it needs to know of them is looked up (`Parameter`); what cannot be found is the original's to complain of.
"""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ClassMethodDescriptorType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

Undo = Callable[[], None]
Around = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

MISSING: Any = object()
NoneType = type(None)
_PASSED_OVER = " <as importlib._bootstrap>"


class Parameter(NamedTuple):
    """An argument of a call, by its name and its position (of a method, `self` has position 0)."""

    name: str
    position: int

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any], default: Any = MISSING) -> Any:
        """What the call gives for it; `default` when it gives nothing."""
        return args[self.position] if len(args) > self.position else kwargs.get(self.name, default)

    def put(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with another value for it, given as it was given; by name when it was not."""
        if len(args) > self.position:
            return (*args[: self.position], value, *args[self.position + 1 :]), kwargs
        return args, {**kwargs, self.name: value}


SELF = Parameter("self", 0)


def wrap_attribute(owner: Any, name: str, hook: Around, also: Iterable[Any] = ()) -> Undo:
    """Have `hook(original, args, kwargs)` make the calls of an attribute of a module or class.

    `also`: other modules or classes in which it stands under the same name. The undo restores the original,
    unless somebody replaced ours meanwhile; whoever kept ours has the original from then on.
    """
    original = inspect.getattr_static(owner, name)
    wrapper = wrap(original, hook, owner if isinstance(owner, ModuleType) else None)
    places = [place for place in also if vars(place).get(name) is original]
    inner: Any = wrapper.__func__ if isinstance(wrapper, (staticmethod, classmethod)) else wrapper
    return undo_all(
        [inner.__samerun_release__, *(replace(place, name, wrapper) for place in (owner, *places))]
    )


def wrap(original: Any, hook: Around, home: ModuleType | None = None) -> Any:
    """A callable that looks like the original, and whose calls are made by `hook(original, args, kwargs)`.

    As an attribute of a class it is bound to an instance where the original would be. `home`: the module
    by whose name it is pickled, where that of a built-in says another one (posix for os).
    """
    if isinstance(original, (staticmethod, classmethod)):
        return type(original)(wrap(original.__func__, hook, home))
    hide_frames(hook)
    if isinstance(original, (ClassMethodDescriptorType, _ClassMethod)):
        return _ClassMethod(original, hook)
    if not hasattr(type(original), "__get__") or isinstance(original, MethodType):
        return _PlainCallable(original, hook, home)
    # A function that is no `async def` is not taken for one, and one that is raises only when it is awaited.
    if not isinstance(original, FunctionType) or inspect.iscoroutinefunction(original):
        return _Method(original, hook, home)
    making: Around | None = hook

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if making is None:
            return original(*args, **kwargs)
        return making(original, args, kwargs)

    def release() -> None:
        nonlocal making
        making = None

    dress(wrapper, original).__samerun_release__ = release
    return wrapper


def dress(function: Any, original: Any) -> Any:
    """The function, which names no argument, with all that the original says of itself."""
    functools.update_wrapper(function, original)
    for name in ("__defaults__", "__kwdefaults__"):
        if getattr(original, name, None) is not None:
            setattr(function, name, getattr(original, name))
    try:
        if not _passes_all_on(original):
            function.__signature__ = inspect.signature(original)  # for those who do not look at __wrapped__
    except (ValueError, TypeError):
        pass
    _tell_torchscript(function, original)
    return hide_frames(function)


def _passes_all_on(original: Any) -> bool:
    """Whether it is a decorator's wrapper of `*args, **kwargs`, as ours is: it shows two signatures."""
    if not hasattr(original, "__wrapped__") or hasattr(original, "__signature__"):
        return False
    own = inspect.signature(original, follow_wrapped=False).parameters.values()
    return [(each.name, each.kind.name) for each in own] == [
        ("args", "VAR_POSITIONAL"),
        ("kwargs", "VAR_KEYWORD"),
    ]


def hide_frames(function: Any) -> Any:
    """The function, whose frames `warnings.warn(…, stacklevel=2)` does not count.

    So a warning from within the original is still one of the line that called it. There is one kind of frame
    that is passed over (`_is_internal_frame` in CPython's warnings.py): that of the import machinery, which
    is known by the name of its file. Functions that are written inside of it are hidden with it.
    """
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is not None:
        plain.__code__ = _hide(code)
    return function


def _hide(code: CodeType) -> CodeType:
    if code.co_filename.endswith(_PASSED_OVER):
        return code
    within = tuple(_hide(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=code.co_filename + _PASSED_OVER, co_consts=within)


def call_as_caller(original: Any) -> Any:
    """The original, if it is of C called from a frame that passes for the one that called its wrapper.

    What it warns of is laid on the frame that calls it: it has none of its own.
    """
    if isinstance(getattr(original, "__func__", original), FunctionType) or issubclass(
        type(original), _PlainCallable
    ):
        return original

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            frame = sys._getframe(1)
        except ValueError:  # a thread begins with the call
            return original(*args, **kwargs)
        caller = frame.f_code  # asked for once: each time tells all audit hooks
        while caller.co_filename.endswith(_PASSED_OVER) and frame.f_back is not None:
            frame = frame.f_back
            caller = frame.f_code
        here = caller.co_filename, caller.co_name, frame.f_lineno
        code = _there.get(here)
        if code is None:
            if len(_there) >= _MOST:
                _there.clear()
            file, name, line = here
            code = _call.__code__.replace(co_filename=file, co_name=name, co_firstlineno=line)
            _there[here] = code
        return FunctionType(code, frame.f_globals)(original, args, kwargs)

    called.__name__ = getattr(original, "__name__", "called")
    called.__wrapped__ = original  # type: ignore[attr-defined]  # for who knows that it never warns
    if hasattr(original, "__self__"):
        called.__self__ = original.__self__  # type: ignore[attr-defined]  # what it is bound to, as of the original
    return hide_frames(called)


def passes_for_its_caller(code: CodeType) -> bool:
    """Whether a frame of this code is one that `call_as_caller` made, in the name of another file."""
    return code.co_varnames == _call.__code__.co_varnames and code.co_code == _call.__code__.co_code


# On one line, so that all of it lies on the line that its code is said to begin with.
def _call(original: Any, args: Any, kwargs: Any) -> Any: return original(*args, **kwargs)  # fmt: skip


_get = object.__getattribute__  # past our own, which costs as much as a call
_there: dict[tuple[str, str, int], CodeType] = {}
_MOST = 10_000


class _PlainCallable:
    """Stands in for a built-in function, or for a bound method: what is no descriptor.

    A class that keeps it as an attribute (pathlib's accessor, glob's globber) calls it as it would call the
    original. Pickled as what it stands for.
    """

    def __init__(self, original: Any, hook: Around, home: ModuleType | None) -> None:
        functools.update_wrapper(self, original)
        self._original = original
        self._called = call_as_caller(original)
        self._hook: Around | None = hook
        if home is not None and isinstance(getattr(original, "__self__", None), (ModuleType, NoneType)):
            self.__module__ = home.__name__
        _tell_torchscript(self, original)

    def __samerun_release__(self) -> None:
        self._hook = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        hook = _get(self, "_hook")
        called = _get(self, "_called")
        return called(*args, **kwargs) if hook is None else hook(called, args, kwargs)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":  # what isinstance() asks for
            return _get(self, "_original").__class__
        return _get(self, name)

    def __getattr__(self, name: str) -> Any:
        if name == "_original":  # of one that is being made
            raise AttributeError(name)
        return getattr(self._original, name)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self._original == other)

    def __hash__(self) -> int:
        return hash(self._original)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = copy.deepcopy(self._original, memo)
        return self if copied is self._original else copied

    def __reduce__(self) -> Any:
        if isinstance(self._original, FunctionType):
            return self._original.__qualname__
        made = self._original.__reduce__()
        return self._original.__qualname__ if isinstance(made, str) else made

    def __repr__(self) -> str:
        return repr(self._original)


hide_frames(_PlainCallable.__call__)


class _Method(_PlainCallable):
    """Stands in for a method of a class that is written in C, or for an `async def`."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


class _ClassMethod:
    """Stands in for a class method of a class that is written in C."""

    def __init__(self, original: Any, hook: Around) -> None:
        looks: Any = functools.update_wrapper
        looks(self, original)
        self._original = original
        self._hook: Around | None = hook

    def __samerun_release__(self) -> None:
        self._hook = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bound = self._original.__get__(instance, owner)
        return bound if self._hook is None else _PlainCallable(bound, self._hook, None)


def replace(owner: Any, name: str, value: Any) -> Undo:
    """Set the attribute; the undo restores what was there, unless somebody replaced ours meanwhile."""
    before = vars(owner).get(name, MISSING)
    _put(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name) is not value:
            return
        if before is MISSING:  # a class had it from a base
            delattr(owner, name)
        else:
            _put(owner, name, before)

    return undo


def _put(owner: Any, name: str, value: Any) -> None:
    """Set the attribute, also of a class that is written in C, which stays what it is.

    A subclass in its place would be another type to whoever compares, annotates or pickles types. Raises
    TypeError where the class's own names cannot be reached.
    """
    try:
        setattr(owner, name, value)
        return
    except TypeError:
        found = gc.get_referents(vars(owner)) if isinstance(owner, type) else []
        if len(found) != 1 or not isinstance(found[0], dict):
            raise
    import ctypes  # which most processes never need

    found[0][name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))  # looked up anew from here on


def stand_in(base: Any, names: Mapping[str, Any]) -> Any:
    """A class to put in the place of `base`, with these names of its own.

    Objects and subclasses of either count as of both, so that it does not matter which of them was met.
    """
    from abc import ABCMeta  # a script's own class may have an abstract one beside it

    first: list[type] = []
    kind: Any = ABCMeta if type(base) is type else type(base)

    class Like(kind):  # type: ignore[misc]
        def __init__(cls, *arguments: Any) -> None:
            super().__init__(*arguments)
            if not first:
                first.append(cls)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, base) if cls is first[0] else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, base) if cls is first[0] else super().__subclasscheck__(subclass)

        @property
        def __signature__(cls) -> inspect.Signature:  # not an attribute, which subclasses would inherit
            if cls is not first[0]:
                raise AttributeError("__signature__")
            return inspect.signature(base)

    said = {name: getattr(base, name) for name in ("__module__", "__qualname__", "__doc__")}
    return Like(base.__name__, (base,), {"__slots__": (), **said, **names})


def undo_all(undos: list[Undo]) -> Undo:
    """One undo that runs each, the last one first."""

    def undo() -> None:
        for each in reversed(undos):
            each()

    return undo


def _tell_torchscript(function: Any, original: Any) -> None:
    """TorchScript knows some functions by their identity: ours is the same operation."""
    builtins: Any = sys.modules.get("torch.jit._builtins")
    known = getattr(builtins, "_builtin_ops", None)
    if not isinstance(known, list):
        return
    known += [(function, name) for name in _list_operations().get(id(original), ())]
    table = getattr(builtins, "_builtin_table", None)
    if table is not None and id(original) in table:
        table[id(function)] = table[id(original)]


@functools.cache
def _list_operations() -> dict[int, set[str]]:
    """TorchScript's names for functions, by the id of the function: its list has thousands of entries."""
    found: dict[int, set[str]] = {}
    for each, name in sys.modules["torch.jit._builtins"]._builtin_ops:
        found.setdefault(id(each), set()).add(name)
    return found
