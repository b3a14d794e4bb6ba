# SPDX-License-Identifier: MIT
"""What the library's functions raise instead of returning a status."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._inspect import Report


class Status(enum.IntEnum):
    """The library's own errors, as in ``xmalloc.h``. An :class:`Error` may also carry one of OpenCL's."""

    HEAP_TOO_SMALL = -5801
    HEAP_TOO_LARGE = -5802
    NO_INT64_ATOMICS = -5803
    SVM_UNAVAILABLE = -5804
    DEVICE_UNUSABLE = -5805
    INVALID_HEAP = -5806
    HEAP_CORRUPT = -5807
    HEAP_MISMATCH = -5808
    HEAP_MAPPED = -5809
    HEAP_NOT_MAPPED = -5810
    FILE_UNUSABLE = -5811
    FILE_FOREIGN = -5812
    FILE_VERSION = -5813
    FILE_TRUNCATED = -5814
    FILE_DAMAGED = -5815
    NO_DEFAULT_HEAP = -5816
    HEAP_IS_DEBUG = -5817
    FILE_NOT_REGULAR = -5818
    HEAP_NOT_TRACED = -5819


CL_MEM_OBJECT_ALLOCATION_FAILURE = -4
CL_OUT_OF_HOST_MEMORY = -6


class Error(RuntimeError):
    """A call of the library failed. Its text is the status in words."""

    status: int
    """One of :class:`Status`, or an error of OpenCL."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = Status(status) if status in _statuses else status


class OutOfMemory(Error, MemoryError):
    """No room is left in the heap, on the device or on the host."""


class FileError(Error):
    """A heap's file cannot be read or written, or is not what it should be."""

    errno: int
    """What the operating system said; 0 if it has nothing to do with it."""

    def __init__(self, status: int, words: str, errno: int = 0) -> None:
        super().__init__(status, f"{words} ({os.strerror(errno)})" if errno else words)
        self.errno = errno


class HeapCorrupt(Error):
    """An invariant of the heap is broken."""

    report: Report | None
    """What is broken and where, if :meth:`Heap.check` found it."""

    def __init__(self, status: int, words: str, report: Report | None = None) -> None:
        super().__init__(status, f"{words}: {report.message} (at byte {report.offset})" if report else words)
        self.report = report


class UnmappedError(ValueError):
    """A view was used after the map that it came from had ended."""


_statuses = frozenset(Status)
_files = frozenset(s for s in Status if s.name.startswith("FILE_"))


def error(status: int, words: str, errno: int = 0) -> Error:
    """The exception for a status other than CL_SUCCESS."""
    if status in (CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY):
        return OutOfMemory(status, words)
    if status == Status.HEAP_CORRUPT:
        return HeapCorrupt(status, words)
    if status in _files:
        return FileError(status, words, errno if status == Status.FILE_UNUSABLE else 0)
    return Error(status, words)
