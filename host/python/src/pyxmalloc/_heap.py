# SPDX-License-Identifier: MIT
"""The heap."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pyopencl as cl

from ._errors import HeapCorrupt, Status
from ._inspect import Block, Stats, block_of, report_of, stats_of
from ._library import (
    Backing,
    BlockCallback,
    CBlock,
    Coalescing,
    CReport,
    CStats,
    Event,
    EventCallback,
    Info,
    Property,
    Text,
    Trace,
    check,
    lib,
    size_of,
    words,
)
from ._map import HostCalls, Map
from ._program import Program

Path = str | os.PathLike[str]


class Heap:
    """A heap for the kernels of one device.

    :param nbytes: the heap's size in bytes, metadata included.
    :param device: one of the context's devices; by default its first.
    :param backing: what the heap lies in.
    :param coalescing: how requests that the lanes of a sub-group make together are served.
    :param fifos: FIFOs a size class; 0: none; None: the library's choice.
    :param debug: debug level, 0 to 3; ``cl/calls/debug.cl`` says what each finds and costs.
    :param max_nbytes: how large :meth:`grow` can make it; None: it cannot grow. Metadata is as of that size.
    :param trace_nbytes: bytes of the heap for a ring of the last events, which :meth:`trace` tells: 48 for each.
    :param trace_every: of the places where blocks begin, one in so many is traced.
    :param fifo_start: first sequence number of every FIFO, to test their wrap-around.

    Errors are raised as :class:`Error`. Methods that take a queue first wait for everything in it; None means a queue
    of the heap's own, for which work in other queues must have ended. A heap may be used by several threads, but not
    while one of them resets or closes it.

    The heap is released by :meth:`close`, at the end of ``with``, or with the object. Kernels already enqueued may
    still run on it, unless :attr:`deferred_release` is False.
    """

    def __init__(
        self,
        context: cl.Context,
        nbytes: int,
        *,
        device: cl.Device | None = None,
        backing: Backing = Backing.BUFFER,
        coalescing: Coalescing = Coalescing.CLASS,
        fifos: int | None = None,
        debug: int = 0,
        max_nbytes: int | None = None,
        trace_nbytes: int = 0,
        trace_every: int = 1,
        fifo_start: int = 0,
    ) -> None:
        properties = {
            Property.BACKING: backing,
            Property.COALESCING: coalescing,
            Property.FIFOS: -1 if fifos is None else fifos,
            Property.FIFO_START: fifo_start,
            Property.DEBUG: debug,
            Property.MAX_BYTES: size_of("max_nbytes", max_nbytes or 0),
            Property.TRACE_BYTES: size_of("trace_nbytes", trace_nbytes),
            Property.TRACE_EVERY: trace_every,
        }
        self._open(lib.xmcCreateHeap, context, device, properties, size_of("nbytes", nbytes))

    @classmethod
    def load(
        cls, context: cl.Context, path: Path, *, device: cl.Device | None = None, backing: Backing = Backing.BUFFER
    ) -> Heap:
        """The heap that :meth:`save` wrote to a file, on any device. Every reference leads to its data."""
        heap = cls.__new__(cls)
        heap._open(lib.xmcLoadHeap, context, device, {Property.BACKING: backing}, os.fsencode(path))
        return heap

    def _open(
        self,
        create: Any,
        context: cl.Context,
        device: cl.Device | None,
        properties: dict[Property, int],
        what: int | bytes,
    ) -> None:
        self._handle: int | None = None
        self._mapped = False
        self._context = context
        self._device = device if device is not None else context.devices[0]
        pairs = [number for pair in properties.items() for number in pair]
        status = ctypes.c_int32()
        handle = create(
            context.int_ptr,
            self._device.int_ptr,
            (ctypes.c_ssize_t * (len(pairs) + 1))(*pairs),
            what,
            ctypes.byref(status),
        )
        check(status.value)
        self._handle = handle
        self._finalizer = weakref.finalize(self, lib.xmcReleaseHeap, handle)

    # ---- its life ----

    def close(self) -> None:
        """Releases the heap now, unless it is closed. Raises :class:`Error` for a mapped heap, which stays open."""
        if self._handle is not None:
            lib.xmcReleaseHeap(self._handle)
            self._finalizer.detach()
            self._handle = None

    @property
    def closed(self) -> bool:
        return self._handle is None

    def __enter__(self) -> Heap:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def reset(self, queue: cl.CommandQueue | None = None) -> None:
        """Forgets every block and every count."""
        lib.xmcResetHeap(self.handle, self.queue_of(queue))

    def grow(self, nbytes: int, queue: cl.CommandQueue | None = None) -> None:
        """Makes the heap ``nbytes`` large, metadata included, up to :attr:`max_nbytes`. Every block stays where its
        reference says; pointers into the heap, :attr:`buffer` and a default heap's binding are void. Kernels of
        :meth:`program` take the heap anew at each call."""
        lib.xmcGrowHeap(self.handle, self.queue_of(queue), size_of("nbytes", nbytes))

    def save(self, path: Path, queue: cl.CommandQueue | None = None) -> None:
        """Writes the heap, which must be quiet, to a file; only what is in use takes room there."""
        lib.xmcSaveHeap(self.handle, self.queue_of(queue), os.fsencode(path))

    # ---- for kernels ----

    def program(self, *sources: str) -> Program:
        """A program whose source is the strings, one after the other, with the device library in front, or in place of
        ``#include "xmalloc.cl"``. ``heap.program(source).build()`` builds it."""
        strings = (ctypes.c_char_p * len(sources))(*(s.encode() for s in sources))
        status = ctypes.c_int32()
        program = lib.xmcCreateProgramWithSource(self.handle, len(sources), strings, None, ctypes.byref(status))
        check(status.value)
        text = cl.Program.from_int_ptr(program, retain=False).get_info(cl.program_info.SOURCE)
        return Program(self, str(text))

    def link(self, *objects: cl.Program, default_heap: bool = False, options: str = "") -> cl.Program:
        """Links programs that were compiled (``cl.Program(context, source).compile()``) and only declare what they call with the
        device library. ``Kernel(program, name)`` makes a kernel of the result that takes heaps as arguments.

        :param default_heap: the objects may call ``malloc`` and the like, too; :meth:`bind_default` then tells the heap.
        """
        programs = (ctypes.c_void_p * len(objects))(*(o.int_ptr for o in objects))
        status = ctypes.c_int32()
        linked = lib.xmcLinkProgram(
            self.handle, int(default_heap), len(objects), programs, options.encode() or None, ctypes.byref(status)
        )
        program = cl.Program.from_int_ptr(linked, retain=False) if linked else None
        check(status.value)
        return cast(cl.Program, program)

    def set_argument(self, kernel: cl.Kernel, index: int) -> None:
        """Sets an argument of a kernel, declared as ``__global xmcHeap *``, to this heap. Raises :class:`Error` if its
        program is for another kind of heap. Kernels of :meth:`program` do this themselves for a heap that they are
        called with."""
        lib.xmcSetKernelArgHeap(kernel.int_ptr, index, self.handle)

    @property
    def buffer(self) -> cl.Buffer | cl.SVM[Any]:
        """The heap as PyOpenCL takes it for a kernel's argument, whoever made the kernel; its program is not checked.
        It must not be used after :meth:`close`."""
        argument = self._info(Info.ARGUMENT, ctypes.c_void_p)
        if argument:
            return cast(cl.Buffer, cl.Buffer.from_int_ptr(argument))
        address = self._info(Info.SVM_POINTER, ctypes.c_void_p)
        return cl.SVM(np.ctypeslib.as_array((ctypes.c_uint8 * self.nbytes).from_address(address)))

    def bind_default(self, program: cl.Program, queue: cl.CommandQueue | None = None) -> None:
        """Makes this heap the one that ``xmcMallocDefault``, and ``malloc`` of ``xmalloc_std.h``, use in a built
        program."""
        lib.xmcBindDefaultHeap(program.int_ptr, self.handle, self.queue_of(queue))

    # ---- for the host ----

    def mapped(self, queue: cl.CommandQueue | None = None) -> Map:
        """The heap in the host's hands: ``with heap.mapped(queue) as m``. Its memory is copied where the device's is
        another one. Meanwhile no kernel may run on the heap, and calling one of :meth:`program` raises :class:`Error`,
        unless :attr:`host_always`."""
        return Map(self, queue)

    @property
    def host(self) -> HostCalls:
        """The host's calls at any time, beside running kernels; only where :attr:`host_always`."""
        if not self.host_always:
            check(Status.HEAP_NOT_MAPPED)
        return HostCalls(self)

    # ---- what it holds ----

    def stats(self, queue: cl.CommandQueue | None = None) -> Stats:
        """Statistics, exact when no kernel is working on the heap."""
        c = CStats()
        lib.xmcGetHeapStatsSized(self.handle, self.queue_of(queue), ctypes.sizeof(c), ctypes.byref(c))
        return stats_of(c)

    def check(self, queue: cl.CommandQueue | None = None) -> None:
        """Verifies every invariant of the heap, which must be quiet. Raises :class:`HeapCorrupt` with the report."""
        c = CReport()
        try:
            lib.xmcCheckHeapSized(self.handle, self.queue_of(queue), ctypes.sizeof(c), ctypes.byref(c))
        except HeapCorrupt as e:
            raise HeapCorrupt(e.status, words(e.status), report_of(c)) from None

    def blocks(self, queue: cl.CommandQueue | None = None) -> list[Block]:
        """Every live block, by ascending reference."""
        blocks: list[Block] = []

        def add(block: Any, data: Any) -> int:
            blocks.append(block_of(block.contents))
            return 0

        lib.xmcForEachBlockSized(self.handle, self.queue_of(queue), ctypes.sizeof(CBlock), BlockCallback(add), None)
        return blocks

    def _text(self, what: Text | Trace, queue: cl.CommandQueue | None) -> str:
        size = ctypes.c_size_t()
        handle, queue_ptr = self.handle, self.queue_of(queue)
        lib.xmcGetHeapText(handle, queue_ptr, what, 0, None, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        lib.xmcGetHeapText(handle, queue_ptr, what, size, text, None)
        return text.value.decode()

    def table(self, queue: cl.CommandQueue | None = None) -> str:
        """The statistics as a table for people."""
        return self._text(Text.STATS_TABLE, queue)

    def json(self, queue: cl.CommandQueue | None = None) -> str:
        """The statistics as JSON; references and ``first_failure_size``, which may be beyond 2^53, are strings."""
        return self._text(Text.STATS_JSON, queue)

    def leaks(self, queue: cl.CommandQueue | None = None) -> str:
        """A report of what is still allocated: how much of each size, and the first blocks."""
        return self._text(Text.LEAKS, queue)

    def map_svg(self, queue: cl.CommandQueue | None = None) -> str:
        """A picture of the heap: what every part of it is used for, what is free and how it is cut up."""
        return self._text(Text.MAP_SVG, queue)

    def trace(self, what: Trace = Trace.CHROME, queue: cl.CommandQueue | None = None) -> str:
        """What the last kernels and host calls did, in a heap with ``trace_nbytes``."""
        return self._text(what, queue)

    def _repr_svg_(self) -> str | None:
        return None if self.closed else self.map_svg()

    def on_failure(self, callback: Callable[[Event, int, int], None] | None) -> None:
        """Calls ``callback(event, value, id)`` once for each kind of failure that happened in kernels or host calls
        since the heap was created or reset, or since this call.

        It is called by the methods that look at the heap (:meth:`stats`, :meth:`check`, :meth:`blocks`, the texts,
        :meth:`save`, the beginning and end of a map, :meth:`reset`, :meth:`close`), in the same thread, when the first
        of them sees the failure. ``value`` is the bytes asked for, or the reference of a bad free, and ``id`` is the
        work-item's global linear id for a request that failed: the ``first_...`` of :class:`Stats`. An exception in the
        callback is reported by ``sys.unraisablehook`` and ends nothing. None: no callback.

        The callback may do as it likes with the heap, which includes to close it; only if :meth:`close` calls it, it must
        neither close nor map the heap.
        """
        function = EventCallback(lambda _heap, event, value, id, _data: callback(Event(event), value, id))  # type: ignore[misc]
        function = function if callback else EventCallback()
        lib.xmcSetHeapCallback(self.handle, function, None)
        self._callback = function  # as long as the library may call it

    # ---- what it is ----

    @property
    def handle(self) -> int:
        """The library's handle, an ``xmc_heap``."""
        if self._handle is None:
            check(Status.INVALID_HEAP)
        return self._handle  # type: ignore[return-value]

    @staticmethod
    def queue_of(queue: cl.CommandQueue | None) -> int | None:
        return None if queue is None else queue.int_ptr

    def _info(self, name: Info | Property, kind: Any) -> Any:
        value = kind()
        lib.xmcGetHeapInfo(self.handle, name, ctypes.sizeof(value), ctypes.byref(value), None)
        return value.value

    def _info_text(self, name: Info) -> str:
        size = ctypes.c_size_t()
        lib.xmcGetHeapInfo(self.handle, name, 0, None, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        lib.xmcGetHeapInfo(self.handle, name, size, text, None)
        return text.value.decode()

    @property
    def context(self) -> cl.Context:
        return self._context

    @property
    def device(self) -> cl.Device:
        return self._device

    @property
    def nbytes(self) -> int:
        """The heap's size, metadata included."""
        return int(self._info(Info.BYTES, ctypes.c_size_t))

    @property
    def max_nbytes(self) -> int:
        """How large :meth:`grow` can make the heap."""
        return int(self._info(Property.MAX_BYTES, ctypes.c_ssize_t))

    @property
    def metadata_bytes(self) -> int:
        """Part of the heap that blocks can never use."""
        return int(self._info(Info.METADATA_BYTES, ctypes.c_size_t))

    @property
    def backing(self) -> Backing:
        return Backing(self._info(Property.BACKING, ctypes.c_ssize_t))

    @property
    def coalescing(self) -> Coalescing:
        return Coalescing(self._info(Property.COALESCING, ctypes.c_ssize_t))

    @property
    def fifos(self) -> int:
        """FIFOs a size class, at most."""
        return int(self._info(Property.FIFOS, ctypes.c_ssize_t))

    @property
    def debug(self) -> int:
        """The debug level."""
        return int(self._info(Property.DEBUG, ctypes.c_ssize_t))

    @property
    def deferred_release(self) -> bool:
        """Whether the heap may be closed while work on it is queued."""
        return bool(self._info(Info.DEFERRED_RELEASE, ctypes.c_uint32))

    @property
    def sub_groups(self) -> bool:
        """Whether programs have XMC_HAS_SUBGROUPS."""
        return bool(self._info(Info.SUB_GROUPS, ctypes.c_uint32))

    @property
    def host_always(self) -> bool:
        """Whether host calls work at any time, without a map."""
        return bool(self._info(Info.HOST_ALWAYS, ctypes.c_uint32))

    @property
    def defaults(self) -> bool:
        """Whether :meth:`bind_default` works on the device."""
        return bool(self._info(Info.DEFAULTS, ctypes.c_uint32))

    @property
    def path(self) -> str:
        """The path that programs take, such as "NVIDIA PTX, OpenCL C 3.0"."""
        return self._info_text(Info.PATH)

    @property
    def why(self) -> str:
        """What the probe of the device found, a line a finding."""
        return self._info_text(Info.WHY)

    @property
    def build_options(self) -> str:
        """The options that programs for the heap are built with."""
        return str(lib.xmcGetBuildOptions(self.handle).decode())

    @property
    def geometry_options(self) -> str:
        """More options, for programs for heaps of this size only; empty for a loaded heap."""
        return str(lib.xmcGetGeometryOptions(self.handle).decode())

    def __repr__(self) -> str:
        if self.closed:
            return "<pyxmalloc.Heap, closed>"
        return f"<pyxmalloc.Heap of {self.nbytes} bytes on {self.device.name}, {self.backing.name}>"
