# SPDX-License-Identifier: MIT
"""The life of a heap, its programs and kernels."""

import gc

import numpy as np
import pyopencl as cl
import pytest
from conftest import NODE_SOURCE

import pyxmalloc as xmc


def test_kernels(heap, program, queue, refs):
    """A heap is an argument by itself, by its buffer, and set by hand; for the program's kernels and for others."""
    assert isinstance(program, cl.Program)
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    assert np.all(refs.get() > 0)
    assert heap.stats(queue).live_blocks == 1000
    give = cl.Kernel(program, "give")
    give(queue, (500,), None, heap.buffer, refs.data)
    heap.set_argument(give, 0)
    cl.enqueue_nd_range_kernel(queue, give, (500,), None, global_work_offset=(500,))
    stats = heap.stats(queue)
    assert (stats.live_blocks, stats.double_frees, stats.invalid_frees) == (0, 0, 0)
    kernel = program.take
    kernel.set_args(heap, refs.data, np.uint32(8))
    kernel.set_arg(0, heap)
    cl.enqueue_nd_range_kernel(queue, kernel, (10,), None)
    assert heap.stats(queue).classes == {16: 10}
    assert {k.function_name for k in program.all_kernels()} == {"push", "take", "give"}
    with pytest.raises(AttributeError, match="no kernel 'nonsense'"):
        program.nonsense


def test_another_kind_of_heap(context, queue, refs):
    plain = xmc.Heap(context, 16 << 20)
    debug = xmc.Heap(context, 16 << 20, debug=1)
    take = plain.program(NODE_SOURCE).build().take
    with pytest.raises(xmc.Error, match="XMC_HEAP_MISMATCH") as e:
        take(queue, (1,), None, debug, refs.data, np.uint32(8))
    assert e.value.status == xmc.Status.HEAP_MISMATCH


def test_build_options(heap, queue, refs):
    source = "__kernel void f(__global xmcHeap *heap, __global ulong *r) { r[0] = WHAT; xmcFree(heap, 0); }"
    for options in ("-DWHAT=7", ["-D", "WHAT=7"]):
        heap.program(source).build(options, geometry=True).f(queue, (1,), None, heap, refs.data)
        assert refs.get()[0] == 7
    with pytest.raises(cl.RuntimeError):
        heap.program("nonsense", source).build()
    two = heap.program("#define WHAT 8\n", source).build()
    two.f(queue, (1,), None, heap, refs.data)
    assert refs.get()[0] == 8


def test_properties(context):
    with xmc.Heap(context, 32 << 20, coalescing=xmc.Coalescing.NONE, fifos=4, debug=2, fifo_start=5) as heap:
        assert (heap.nbytes, heap.coalescing, heap.fifos, heap.debug) == (32 << 20, xmc.Coalescing.NONE, 4, 2)
        assert heap.backing == xmc.Backing.BUFFER
        assert 0 < heap.metadata_bytes < heap.nbytes / 8
        assert heap.context == context
        assert heap.device == context.devices[0]
        assert "OpenCL C" in heap.path
        assert heap.why
        assert heap.deferred_release
        assert "-DXMC_DEBUG=2" in heap.build_options
        assert "-DXMC_GEOMETRY=" in heap.geometry_options
        assert isinstance(heap.sub_groups, bool)
        assert "33554432 bytes" in repr(heap)
        assert not heap.closed
    assert heap.closed
    assert "closed" in repr(heap)
    heap.close()
    with pytest.raises(xmc.Error, match="XMC_INVALID_HEAP"):
        heap.stats()


@pytest.mark.parametrize(
    ("nbytes", "more", "status"),
    [
        (100, {}, xmc.Status.HEAP_TOO_SMALL),
        (1 << 60, {}, xmc.Status.HEAP_TOO_LARGE),
        (1 << 20, {"debug": 77}, -64),  # CL_INVALID_PROPERTY
    ],
)
def test_refused(context, nbytes, more, status):
    with pytest.raises(xmc.Error) as e:
        xmc.Heap(context, nbytes, **more)
    assert e.value.status == status
    assert str(e.value).startswith(("XMC_", "CL_"))


def test_sizes_that_are_none(context):
    for nbytes in (1e6, "64M"):
        with pytest.raises(TypeError, match="integer"):
            xmc.Heap(context, nbytes)
    with pytest.raises(ValueError, match="nbytes is negative"):
        xmc.Heap(context, -1)
    with pytest.raises(OverflowError, match="nbytes is larger"):
        xmc.Heap(context, (1 << 64) + (64 << 20))
    for more in ("max_nbytes", "trace_nbytes"):
        with pytest.raises(OverflowError, match=more):
            xmc.Heap(context, 16 << 20, **{more: (1 << 64) + (32 << 20)})
    heap = xmc.Heap(context, 16 << 20, max_nbytes=32 << 20)
    with pytest.raises(OverflowError, match="nbytes is larger"):
        heap.grow((1 << 64) + (32 << 20))
    assert heap.nbytes <= 16 << 20


def test_released_with_the_object(context, queue, refs):
    """... and its kernels, which keep it alive; work already enqueued still runs."""
    heap = xmc.Heap(context, 16 << 20)
    finalizer = heap._finalizer
    take = heap.program(NODE_SOURCE).build().take
    take(queue, refs.shape, None, heap, refs.data, np.uint32(8))
    del heap
    gc.collect()
    assert finalizer.alive
    take(queue, refs.shape, None, *(next(iter(take._heaps.values())), refs.data, np.uint32(8)))
    del take
    gc.collect()
    assert not finalizer.alive
    assert np.all(refs.get() > 0)


def test_grow(context, queue, refs):
    heap = xmc.Heap(context, 4 << 20, max_nbytes=32 << 20)
    program = heap.program(NODE_SOURCE).build()
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(20000))
    before = heap.stats(queue)
    refused = np.count_nonzero(refs.get() == 0)
    assert (heap.nbytes, heap.max_nbytes, before.failed_requests) == (4 << 20, 32 << 20, refused)
    assert before.failed_bytes == refused * 20000 > 0
    with pytest.raises(xmc.Error, match="XMC_HEAP_TOO_LARGE"):
        heap.grow((32 << 20) + 1)
    with pytest.raises(xmc.Error, match="CL_INVALID_VALUE"):
        heap.grow(1 << 20)
    heap.grow(32 << 20, queue)
    heap.check(queue)
    assert (heap.nbytes, heap.stats().live_blocks) == (32 << 20, before.live_blocks)
    with heap.mapped(queue) as m:
        assert m.malloc(16 << 20)
    program.give(queue, refs.shape, None, heap, refs.data)
    stats = heap.stats(queue)
    assert (stats.live_blocks, stats.invalid_frees, stats.double_frees) == (1, 0, 0)
    assert (16 << 20) < stats.high_water_bytes < (32 << 20)
    assert stats.reclaimable_bytes <= stats.free_bytes


def test_reset(heap, program, queue, refs):
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    heap.reset(queue)
    assert heap.stats(queue).live_blocks == 0


def test_files(heap, program, queue, context, refs, tmp_path):
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    ref = int(refs.get()[3])
    with heap.mapped(queue) as m:
        m.view(ref, np.float32, 4)[:] = 1.5
    heap.save(tmp_path / "heap", queue)
    with xmc.Heap.load(context, tmp_path / "heap", backing=heap.backing) as other:
        assert other.stats().live_blocks == 1000
        with other.mapped() as m:
            assert np.array_equal(m.view(ref, np.float32, 4), [1.5] * 4)


def test_bad_files(heap, context, tmp_path):
    with pytest.raises(xmc.FileError, match="No such file") as e:
        xmc.Heap.load(context, tmp_path / "none")
    assert (e.value.status, e.value.errno) == (xmc.Status.FILE_UNUSABLE, 2)
    (tmp_path / "foreign").write_bytes(b"x" * 100000)
    with pytest.raises(xmc.FileError) as e:
        xmc.Heap.load(context, str(tmp_path / "foreign"))
    assert e.value.status == xmc.Status.FILE_FOREIGN
    with pytest.raises(xmc.FileError):
        heap.save(tmp_path / "none" / "heap")


def test_link(heap, context, queue):
    source = """struct xmcHeap;
    __global void *xmcMalloc(__global struct xmcHeap *heap, size_t size);
    __kernel void f(__global struct xmcHeap *heap) { xmcMalloc(heap, 100); }"""
    program = heap.link(cl.Program(context, source).compile(heap.build_options))
    xmc.Kernel(program, "f")(queue, (50,), None, heap)
    assert heap.stats(queue).live_blocks == 50
    with pytest.raises(xmc.Error) as e:
        heap.link()
    assert e.value.status == cl.status_code.INVALID_VALUE


def test_default_heap(heap, queue, refs):
    source = """#include "xmalloc_default.cl"
    __kernel void f(__global ulong *r) { r[0] = xmcMallocDefault(100) != 0; }"""
    if not heap.defaults:
        with pytest.raises(xmc.Error) as e:
            heap.bind_default(heap.program(NODE_SOURCE).build(), queue)
        assert e.value.status == xmc.Status.NO_DEFAULT_HEAP
        return
    program = heap.program(source).build()
    heap.bind_default(program, queue)
    program.f(queue, (1,), None, refs.data)
    assert refs.get()[0] == 1
