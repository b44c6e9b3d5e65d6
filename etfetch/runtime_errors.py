"""The error codes of ExecuTorch's runtime: what they mean, and which command says more.

The codes are those of `runtime/core/error.h` of pytorch/executorch 1.5.1; the words that the runtime prints
with some of them were seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from etfetch.errors import UsageError, nearest

_CHECK = "etfetch check MODEL"
_INSPECT = "etfetch inspect MODEL"
_VERIFY = "etfetch verify --deep"


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One code. `printed` is what the runtime says with it; `command` is what to run next."""

    code: int
    name: str
    meaning: str
    printed: str = ""
    command: str = _CHECK

    @property
    def hexadecimal(self) -> str:
        return f"0x{self.code:02x}"


ERRORS = (
    ErrorCode(0x00, "Ok", "no error", command=""),
    ErrorCode(0x01, "Internal", "a fault inside the runtime or a backend", command=_VERIFY),
    ErrorCode(0x02, "InvalidState", "a call that does not fit the state, such as running before loading"),
    ErrorCode(0x03, "EndOfMethod", "the method has no more steps to run", command=""),
    ErrorCode(0x04, "AlreadyLoaded", "what is loaded was to be loaded once more", command=""),
    ErrorCode(0x10, "NotSupported", "the runtime or a backend does not support what the program does"),
    ErrorCode(0x11, "NotImplemented", "the runtime or a backend has no code for what the program does"),
    ErrorCode(
        0x12,
        "InvalidArgument",
        "inputs of another number, shape or type than the method takes, or a file that is no program",
        command=_INSPECT,
    ),
    ErrorCode(0x13, "InvalidType", "a value of another type than the program says", command=_INSPECT),
    ErrorCode(
        0x14,
        "OperatorMissing",
        "the program calls an operator that no linked library registers: a kernels library is not installed, "
        "not linked, or was dropped by the linker because nothing refers to it",
        "kernel 'aten::addmm.out' not found. … Missing operator: [1] aten::addmm.out",
    ),
    ErrorCode(
        0x15, "RegistrationExceedingMaxKernels", "more kernels are linked than the runtime has room for"
    ),
    ErrorCode(
        0x16,
        "RegistrationAlreadyRegistered",
        "two linked libraries register the same operator, or one is linked twice; the app stops at its start",
        "Re-registering aten::add.out",
    ),
    ErrorCode(
        0x20,
        "NotFound",
        "when a method is loaded: a backend that the program was lowered to is not registered; it is not "
        "installed, not linked, or was dropped by the linker because nothing refers to it",
        "Backend XnnpackBackend is not registered.",
    ),
    ErrorCode(0x21, "MemoryAllocationFailed", "there is not enough memory for the method", command=_INSPECT),
    ErrorCode(0x22, "AccessFailed", "a file could not be opened or read", command=_INSPECT),
    ErrorCode(
        0x23,
        "InvalidProgram",
        "the file is damaged, cut off, no program, or of a format that this runtime does not read",
        command=_INSPECT,
    ),
    ErrorCode(
        0x24,
        "InvalidExternalData",
        "the program's weights stand in a `.ptd`, which does not fit",
        command=_INSPECT,
    ),
    ErrorCode(0x25, "OutOfResources", "the system had no more of something other than memory", command=""),
    ErrorCode(
        0x30,
        "DelegateInvalidCompatibility",
        "the backend cannot use what it was given: exported with another version, or for another device",
    ),
    ErrorCode(0x31, "DelegateMemoryAllocationFailed", "the backend had not enough memory", command=_INSPECT),
    ErrorCode(0x32, "DelegateInvalidHandle", "a fault inside the backend", command=_VERIFY),
)


def find(word: str) -> ErrorCode:
    """The error of a code (`0x14`, `20`, `0x00000014`) or a name; `UsageError` if there is none."""
    text = word.strip().removeprefix("Error::").removeprefix("Error")
    for error in ERRORS:
        if text.lower() == error.name.lower() or _number(text) == error.code:
            return error
    names = {error.name.lower(): error.name for error in ERRORS}
    close = nearest(word, names)
    raise UsageError(
        f"ExecuTorch has no error `{word}`" + (f"; did you mean `{names[close]}`?" if close else ""),
        data=[f"{error.hexadecimal} {error.name}" for error in ERRORS],
    )


def _number(text: str) -> int | None:
    """`0x14` as it stands; `20` as the decimal number that a debugger shows."""
    try:
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None
