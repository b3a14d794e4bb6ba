# SPDX-License-Identifier: MIT
"""XMalloc for PyOpenCL: ``malloc`` and ``free`` for OpenCL kernels.

>>> import numpy as np, pyopencl as cl, pyopencl.array, pyxmalloc as xmc
>>> context = cl.create_some_context(interactive=False)
>>> queue = cl.CommandQueue(context)
>>> heap = xmc.Heap(context, 64 << 20)
>>> program = heap.program('''
...     __kernel void numbers(__global xmcHeap *heap, __global ulong *refs) {
...       size_t i = get_global_id(0);
...       __global uint *block = xmcMalloc(heap, (i + 1) * sizeof(uint));
...       for (size_t j = 0; block && j <= i; j++) block[j] = (uint)j;
...       refs[i] = xmcToRef(heap, block);
...     }''').build()
>>> refs = cl.array.zeros(queue, 100, np.uint64)
>>> event = program.numbers(queue, refs.shape, None, heap, refs.data)
>>> with heap.mapped(queue) as m:
...     print(m.view(refs.get()[7], np.uint32, 8))
[0 1 2 3 4 5 6 7]

A block is known to the host by its *reference*, an integer of 64 bits, which is what ``xmcToRef`` returns in a kernel:
the block's offset in the heap, and 0 for ``NULL``. It stays the same on every device, in every process and in files.
"""

from ._errors import Error, FileError, HeapCorrupt, OutOfMemory, Status, UnmappedError
from ._heap import Heap
from ._inspect import Block, Change, Problem, Report, Stats
from ._library import Backing, Coalescing, Event, Trace, source, version
from ._map import HostCalls, Map, View
from ._program import Kernel, Program

__all__ = [
    "Backing",
    "Block",
    "Change",
    "Coalescing",
    "Error",
    "Event",
    "FileError",
    "Heap",
    "HeapCorrupt",
    "HostCalls",
    "Kernel",
    "Map",
    "OutOfMemory",
    "Problem",
    "Program",
    "Report",
    "Stats",
    "Status",
    "Trace",
    "UnmappedError",
    "View",
    "source",
    "version",
]
