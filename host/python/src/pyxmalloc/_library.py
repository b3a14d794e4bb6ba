# SPDX-License-Identifier: MIT
"""libxmalloc: its functions, constants and structures for ctypes. ``tests/test_library.py`` compares all of them with
``xmalloc.h``."""

from __future__ import annotations

import ctypes
import enum
import operator
import sys
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, SupportsIndex

from . import _errors


class Backing(enum.IntEnum):
    """What a heap lies in."""

    BUFFER = 1
    """A buffer."""
    SVM = 2
    """Coarse-grained shared virtual memory."""
    SVM_FINE = 3
    """Fine-grained shared virtual memory, with atomics where the device has them."""


class Coalescing(enum.IntEnum):
    """How requests that the lanes of a sub-group make together are served."""

    NONE = 0
    """Every work-item by itself."""
    COMPARTMENT = 1
    """One block for the sub-group, cut into compartments."""
    CLASS = 2
    """One claim for all lanes that want the same size class."""


class Property(enum.IntEnum):
    """Properties of xmcCreateHeap."""

    BACKING = 0x5801
    COALESCING = 0x5802
    FIFOS = 0x5803
    FIFO_START = 0x5804
    DEBUG = 0x5805
    MAX_BYTES = 0x5806
    TRACE_BYTES = 0x5807
    TRACE_EVERY = 0x5808


class Info(enum.IntEnum):
    """What xmcGetHeapInfo tells."""

    BYTES = 0x5813
    METADATA_BYTES = 0x5814
    SVM_POINTER = 0x5816
    DEFERRED_RELEASE = 0x5817
    SUB_GROUPS = 0x5818
    PATH = 0x5819
    WHY = 0x581A
    HOST_ALWAYS = 0x581B
    DEFAULTS = 0x581C
    ARGUMENT = 0x581D


class Text(enum.IntEnum):
    """What xmcGetHeapText writes."""

    STATS_TABLE = 0x5841
    STATS_JSON = 0x5842
    LEAKS = 0x5843
    MAP_SVG = 0x5844


class Trace(enum.IntEnum):
    """A text about what a traced heap recorded."""

    CHROME = 0x5845
    """JSON of the Trace Event Format, which ui.perfetto.dev opens."""
    FOLDED = 0x5846
    """Folded stacks for flame graphs: live bytes of each call site and size class."""
    FOLDED_ALLOCATIONS = 0x5847
    """The same with the number of allocations."""
    TOP = 0x5848
    """Call sites by live bytes and by allocations, as tables for people."""


class Event(enum.IntEnum):
    """A kind of failure."""

    FAILED_REQUEST = 0x5851
    """A request got NULL."""
    DOUBLE_FREE = 0x5852
    INVALID_FREE = 0x5853
    RED_ZONE = 0x5854
    """In debug heaps from level 2 on."""
    USE_AFTER_FREE = 0x5855
    """In debug heaps from level 2 on."""


STATS_CLASSES = 32
BLOCK_OF_PAGES = 0xFFFFFFFF
BLOCK_OF_REGION = 0xFFFFFFFE


class CStats(ctypes.Structure):
    """xmc_heap_stats"""

    _fields_ = [
        *(
            (name, c_uint64)
            for name in (
                "heap_bytes",
                "metadata_bytes",
                "live_blocks",
                "live_bytes",
                "free_bytes",
                "largest_free_bytes",
                "free_block_bytes",
                "superblocks",
                "memoryblocks",
                "memoryblock_bytes",
                "failed_requests",
                "first_failure_size",
                "first_failure_id",
                "double_frees",
                "invalid_frees",
                "first_double_free",
                "first_invalid_free",
            )
        ),
        ("class_bytes", c_uint64 * STATS_CLASSES),
        ("class_live_blocks", c_uint64 * STATS_CLASSES),
        ("red_zone_errors", c_uint64),
        ("first_red_zone_error", c_uint64),
        ("use_after_frees", c_uint64),
        ("first_use_after_free", c_uint64),
        ("failed_bytes", c_uint64),
        ("high_water_bytes", c_uint64),
        ("reclaimable_bytes", c_uint64),
        ("regions", c_uint64),
        ("region_chunks", c_uint64),
        ("region_bytes", c_uint64),
    ]


class CReport(ctypes.Structure):
    """xmc_heap_report"""

    _fields_ = [
        ("problems", c_uint64),
        ("offset", c_uint64),
        ("code", c_int),
        ("message", ctypes.c_char * 244),
    ]


class CBlock(ctypes.Structure):
    """xmc_block"""

    _fields_ = [
        ("ref", c_uint64),
        ("size", c_uint64),
        ("usable", c_uint64),
        ("size_class", c_uint32),
        ("line", c_uint32),
        ("file", c_char_p),
    ]


BlockCallback = ctypes.CFUNCTYPE(c_int, POINTER(CBlock), c_void_p)

EventCallback = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_uint64, c_uint64, c_void_p)

_heap = c_void_p
_queue = c_void_p
_status = c_int32
_status_ret = POINTER(c_int32)

# Name: result and arguments. Where the result is a status, what is not CL_SUCCESS becomes an exception.
_functions: dict[str, tuple[Any, list[Any]]] = {
    "xmcGetVersion": (c_uint32, []),
    "xmcErrorString": (c_char_p, [c_int32]),
    "xmcGetSource": (c_char_p, []),
    "xmcCreateHeap": (_heap, [c_void_p, c_void_p, POINTER(ctypes.c_ssize_t), c_size_t, _status_ret]),
    "xmcLoadHeap": (_heap, [c_void_p, c_void_p, POINTER(ctypes.c_ssize_t), c_char_p, _status_ret]),
    "xmcReleaseHeap": (_status, [_heap]),
    "xmcResetHeap": (_status, [_heap, _queue]),
    "xmcGrowHeap": (_status, [_heap, _queue, c_size_t]),
    "xmcSaveHeap": (_status, [_heap, _queue, c_char_p]),
    "xmcSetKernelArgHeap": (_status, [c_void_p, c_uint32, _heap]),
    "xmcBindDefaultHeap": (_status, [c_void_p, _heap, _queue]),
    "xmcCreateProgramWithSource": (
        c_void_p,
        [_heap, c_uint32, POINTER(c_char_p), POINTER(c_size_t), _status_ret],
    ),
    "xmcLinkProgram": (
        c_void_p,
        [_heap, c_uint64, c_uint32, POINTER(c_void_p), c_char_p, _status_ret],
    ),
    "xmcGetBuildOptions": (c_char_p, [_heap]),
    "xmcGetGeometryOptions": (c_char_p, [_heap]),
    "xmcGetHeapInfo": (_status, [_heap, c_uint32, c_size_t, c_void_p, POINTER(c_size_t)]),
    "xmcGetHeapStatsSized": (_status, [_heap, _queue, c_size_t, POINTER(CStats)]),
    "xmcGetHeapText": (_status, [_heap, _queue, c_uint32, c_size_t, c_char_p, POINTER(c_size_t)]),
    "xmcCheckHeapSized": (_status, [_heap, _queue, c_size_t, POINTER(CReport)]),
    "xmcForEachBlockSized": (_status, [_heap, _queue, c_size_t, BlockCallback, c_void_p]),
    "xmcSetHeapCallback": (_status, [_heap, EventCallback, c_void_p]),
    "xmcMapHeap": (_status, [_heap, _queue]),
    "xmcUnmapHeap": (_status, [_heap, _queue]),
    "xmcHostMalloc": (c_void_p, [_heap, c_size_t, _status_ret]),
    "xmcHostCalloc": (c_void_p, [_heap, c_size_t, c_size_t, _status_ret]),
    "xmcHostAlignedAlloc": (c_void_p, [_heap, c_size_t, c_size_t, _status_ret]),
    "xmcHostRealloc": (c_void_p, [_heap, c_void_p, c_size_t, _status_ret]),
    "xmcHostFree": (_status, [_heap, c_void_p]),
    "xmcHostUsableSize": (c_size_t, [_heap, c_void_p]),
    "xmcHostRegionCreate": (c_uint64, [_heap, _status_ret]),
    "xmcHostRegionMalloc": (c_void_p, [_heap, c_uint64, c_size_t, _status_ret]),
    "xmcHostRegionFree": (_status, [_heap, c_uint64]),
    "xmcHostRegionReset": (_status, [_heap, c_uint64]),
    "xmcHostRegionBytes": (c_size_t, [_heap, c_uint64]),
    "xmcHostToRef": (c_uint64, [_heap, c_void_p]),
    "xmcHostFromRef": (c_void_p, [_heap, c_uint64]),
}


def _load() -> ctypes.CDLL:
    name = {"win32": "xmalloc.dll", "darwin": "libxmalloc.dylib"}.get(sys.platform, "libxmalloc.so")
    try:
        library = ctypes.CDLL(str(Path(__file__).with_name(name)), use_errno=True)
    except OSError as e:
        raise ImportError(f"{e} (libxmalloc needs the system's OpenCL loader, in Debian ocl-icd-libopencl1)") from e
    for function, (result, arguments) in _functions.items():
        f = getattr(library, function)
        f.restype, f.argtypes = result, arguments
        if result is _status:
            f.errcheck = _check_result
    return library


def _check_result(status: int, function: Any, arguments: Any) -> int:
    check(status)
    return status


def words(status: int) -> str:
    """A status in words, its name first."""
    return str(lib.xmcErrorString(status).decode())


def size_of(name: str, value: SupportsIndex) -> int:
    """The value for a ``size_t`` or a region's number; ctypes would take it modulo 2^64 without a word."""
    size = operator.index(value)
    if size < 0:
        raise ValueError(f"{name} is negative: {size}")
    if size >= 1 << 8 * ctypes.sizeof(c_size_t):
        raise OverflowError(f"{name} is larger than {8 * ctypes.sizeof(c_size_t)} bits hold: {size}")
    return size


def check(status: int) -> None:
    """Raises what a status other than CL_SUCCESS means."""
    if status != 0:
        raise _errors.error(status, words(status), ctypes.get_errno())


lib = _load()


def version() -> tuple[int, int, int]:
    """The version of libxmalloc."""
    number = int(lib.xmcGetVersion())
    return number >> 22, number >> 12 & 0x3FF, number & 0xFFF


def source() -> str:
    """The whole device library as one OpenCL C string."""
    return str(lib.xmcGetSource().decode())
