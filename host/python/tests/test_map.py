# SPDX-License-Identifier: MIT
"""The heap in the host's hands: calls and views."""

import copy
import pickle

import numpy as np
import pyopencl as cl
import pytest

import pyxmalloc as xmc

NODE = np.dtype([("next", np.uint64), ("value", np.uint32), ("", np.uint32)])


def test_list(heap, program, queue):
    """A list begun by the host and extended by kernels, without a copy of any node"""
    with heap.mapped(queue) as m:
        first = m.malloc(NODE.itemsize)
        node = m.view(first, NODE)
        node["next"], node["value"] = 0, 12345
    head = cl.array.to_device(queue, np.array([first], np.uint64))
    program.push(queue, (1000,), None, heap, head.data)
    values = []
    with heap.mapped(queue) as m:
        ref = head.get()[0]
        while ref:
            node = m.view(ref, NODE)
            values.append(node["value"])
            node["value"] += 1
            after = node["next"]
            m.free(ref)
            ref = after
    assert values[-1] == 12345
    assert sorted(values[:-1]) == list(range(1000))
    assert heap.stats(queue).live_blocks == 0
    heap.check(queue)


def test_sizes_that_are_none(heap, queue):
    with heap.mapped(queue) as m:
        ref = m.malloc(16)
        region = m.region_create()
        calls = (m.malloc, ()), (m.realloc, (ref,)), (m.aligned_alloc, (64,)), (m.calloc, (1,)), (m.region_malloc, (region,))
        for call, before in calls:
            with pytest.raises(OverflowError, match="larger"):
                call(*before, (1 << 64) + 16)
            with pytest.raises(ValueError, match="negative"):
                call(*before, -1)
            with pytest.raises(TypeError, match="integer"):
                call(*before, 16.0)
        with pytest.raises(OverflowError, match="count"):
            m.calloc((1 << 64) + 1, 16)
        with pytest.raises(OverflowError, match="alignment"):
            m.aligned_alloc((1 << 64) + 64, 16)
        with pytest.raises(OverflowError, match="region"):
            m.region_free((1 << 64) + region)
        with pytest.raises(TypeError, match="integer"):
            m.free(1.5)
        m.free(ref)
        m.region_free(region)
    stats = heap.stats(queue)
    assert (stats.live_blocks, stats.invalid_frees, stats.double_frees) == (0, 0, 0)


def test_regions(heap, queue):
    source = """
    __kernel void add(__global xmcHeap *heap, ulong region, __global ulong *refs) {
      __global uint *p = xmcRegionMalloc(heap, region, 8);
      p[0] = get_global_id(0);
      refs[get_global_id(0)] = xmcToRef(heap, p);
    }"""
    kernel = heap.program(source).build().add
    with heap.mapped(queue) as m:
        region = m.region_create()
        assert m.region_malloc(region, 0) == 0
        ref = m.region_malloc(region, 400)
        m.view(ref, np.uint32, 100, region)[:] = np.arange(100)
    refs = np.zeros(64, np.uint64)
    buffer = cl.Buffer(heap.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=refs)
    kernel(queue, (64,), None, heap, np.uint64(region), buffer)
    cl.enqueue_copy(queue, refs, buffer)
    stats = heap.stats(queue)
    with heap.mapped(queue) as m:
        assert [int(m.view(r, np.uint32, region=region)) for r in refs] == list(range(64))
        assert np.array_equal(m.view(ref, np.uint32, 100, region), np.arange(100))
        assert m.region_nbytes(region) == stats.region_bytes > 0
        with pytest.raises(MemoryError):
            m.region_malloc(region, 1 << 40)
        m.region_reset(region)
        assert m.region_nbytes(region) > 0
        m.region_free(region)
        m.region_free(0)
        assert m.region_nbytes(region) == 0
        with pytest.raises(ValueError, match="no live block"):
            m.view(ref, np.uint32, 1, region)
        with pytest.raises(xmc.Error, match="CL_INVALID_VALUE"):
            m.region_malloc(region, 8)
        m.region_free(region)  # counted
    assert heap.stats(queue).invalid_frees == 2
    assert heap.stats(queue).live_blocks == 0
    heap.check(queue)


def test_calls(heap, queue):
    with heap.mapped(queue) as m:
        assert m.malloc(0) == 0
        a = m.malloc(100)
        assert m.usable_size(a) >= 100
        assert m.usable_size(a + 1) == 0
        b = m.calloc(25, 4)
        assert np.all(m.view(b, np.uint32, 25) == 0)
        c = m.aligned_alloc(16, 64)
        assert c % 16 == 0
        m.view(b, np.uint32, 25)[:] = np.arange(25)
        b = m.realloc(b, 10000)
        assert np.array_equal(m.view(b, np.uint32, 25), np.arange(25))
        with pytest.raises(xmc.OutOfMemory, match="CL_MEM_OBJECT_ALLOCATION_FAILURE"):
            m.malloc(1 << 40)
        with pytest.raises(MemoryError):
            m.calloc(1 << 62, 16)
        with pytest.raises(xmc.Error, match="CL_INVALID_VALUE"):
            m.realloc(a + 16, 5)
        for ref in (0, a, b, np.uint64(c)):
            m.free(ref)
        m.free(a)
        with pytest.raises(ValueError, match="no reference into the heap"):
            m.free(1 << 50)
        with pytest.raises(xmc.Error, match="XMC_HEAP_MAPPED"):
            heap.close()
    stats = heap.stats(queue)
    assert (stats.live_blocks, stats.failed_requests, stats.double_frees) == (0, 2, 1)
    assert stats.invalid_frees == 1  # by realloc


def test_mapped_twice(heap, queue):
    with heap.mapped(queue):
        with pytest.raises(xmc.Error, match="XMC_HEAP_MAPPED"):
            with heap.mapped(queue):
                pass
        with pytest.raises(xmc.Error, match="XMC_HEAP_MAPPED"):
            heap.reset(queue)


def test_unmapped_after_an_exception(heap, queue):
    with pytest.raises(ZeroDivisionError), heap.mapped(queue):
        1 / 0
    with heap.mapped(queue):
        pass


def test_what_a_view_may_be(heap, queue):
    with heap.mapped(queue) as m:
        ref = m.malloc(64)
        assert m.view(ref, np.uint8, -1).nbytes == m.usable_size(ref) >= 64
        assert m.view(ref, np.float64, (2, 4)).shape == (2, 4)
        assert m.view(np.uint64(ref), np.float64).shape == ()
        m.view(ref, np.float64)[...] = 2.5
        assert m.view(ref, np.float64)[()] == 2.5
        for bad in (0, ref + 8, 1 << 50, -1):
            with pytest.raises(ValueError):
                m.view(bad)
        with pytest.raises(ValueError, match="do not fit"):
            m.view(ref, np.uint8, m.usable_size(ref) + 1)
        with pytest.raises(ValueError, match="negative"):
            m.view(ref, np.uint8, (2, -1))
        with pytest.raises(TypeError):
            m.view(ref, object)
        m.free(ref)
        with pytest.raises(ValueError, match="no live block"):
            m.view(ref)


def uses(v):
    """Everything by which Python reaches the numbers of a view"""
    return {
        "item": lambda: v[0],
        "slice": lambda: v[1:],
        "assignment": lambda: v.__setitem__(0, 1),
        "arithmetic": lambda: v + 1,
        "right arithmetic": lambda: 1 + v,
        "comparison": lambda: v == 1,
        "in place": lambda: v.__iadd__(1),
        "out": lambda: np.add(np.zeros(4), 1, out=v),
        "right comparison": lambda: np.ones(4) != v,
        "reduce": lambda: np.add.reduce(v),
        "at": lambda: np.add.at(v, 0, 1),
        "function": lambda: np.concatenate([np.zeros(4), v]),
        "keyword": lambda: np.sum(a=v),
        "method": lambda: v.sum(),
        "copy": lambda: v.copy(),
        "copy module": lambda: copy.copy(v),
        "deepcopy": lambda: copy.deepcopy(v),
        "pickle": lambda: pickle.dumps(v),
        "bytes": lambda: v.tobytes(),
        "list": lambda: list(v),
        "data": lambda: v.data,
        "int": lambda: int(v[:1].reshape(())),
        "bool": lambda: bool(v[:1]),
    }


@pytest.mark.parametrize("name", uses(None))
def test_no_view_outlives_its_map(heap, queue, name):
    with heap.mapped(queue) as m:
        ref = m.calloc(4, 4)
        v = m.view(ref, np.uint32, 4)
        part = v[1:].reshape(3, 1).view(np.int32).T
        if name != "out":
            uses(v)[name]()
    for view in (v, part):
        with pytest.raises(xmc.UnmappedError):
            uses(view)[name]()
    assert repr(v) == str(part) == "<pyxmalloc.View whose map has ended>"
    assert v.shape == (4,)
    with pytest.raises(xmc.UnmappedError, match="has ended"):
        m.view(ref)
    with pytest.raises(xmc.UnmappedError, match="with heap.mapped"):
        heap.mapped(queue).view(ref)


def test_no_kernel_on_a_mapped_heap(heap, program, queue, refs):
    with heap.mapped(queue):
        if not heap.host_always:
            with pytest.raises(xmc.Error, match="XMC_HEAP_MAPPED"):
                program.take(queue, refs.shape, None, heap, refs.data, np.uint32(16))
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(16))
    assert heap.stats(queue).live_blocks == refs.size


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "1.25.0", reason="this NumPy asks no masks")
def test_no_mask_outlives_its_map(heap, queue):
    with heap.mapped(queue) as m:
        mask = m.view(m.calloc(4, 1), np.bool_, 4)
        assert np.add(np.zeros(4), 1, where=mask, out=np.zeros(4)).sum() == 0
    with pytest.raises(xmc.UnmappedError):
        np.add(np.zeros(4), 1, where=mask)


def test_structures(heap, queue):
    with heap.mapped(queue) as m:
        v = m.view(m.calloc(4, NODE.itemsize), NODE, 4)
        v[2]["value"] = 5
        v["next"][1:3] = 9
        assert v["value"].tolist() == [0, 0, 5, 0]
        assert [int(n["next"]) for n in v] == [0, 9, 9, 0]
        third, field = v[2], v["value"]
        number = third["value"]
    assert number == 5
    with pytest.raises(xmc.UnmappedError):
        third["value"]
    with pytest.raises(xmc.UnmappedError):
        field[0]


def test_what_was_computed_stays(heap, queue):
    with heap.mapped(queue) as m:
        v = m.view(m.calloc(4, 4), np.uint32, 4)
        v += 3
        kept = v.copy()
        total, double, again = v.sum(), v * 2, pickle.loads(pickle.dumps(v))
        chosen = v[v > 2]
        assert isinstance(v, xmc.View)
        assert type(double) is np.ndarray
    assert np.array_equal(kept[1:], [3] * 3)
    assert total == 12
    assert np.array_equal(double, [6] * 4)
    assert np.array_equal(again, [3] * 4)
    assert np.array_equal(chosen, [3] * 4)


def test_host_calls_at_any_time(heap, program, queue, refs):
    if not heap.host_always:
        with pytest.raises(xmc.Error, match="XMC_HEAP_NOT_MAPPED"):
            heap.host
        return
    host = heap.host
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    mine = [host.malloc(100) for _ in range(1000)]
    v = host.view(mine[0], np.uint32, 25)
    v[:] = 7
    assert not set(mine) & set(refs.get().tolist())
    assert heap.stats(queue).live_blocks == 2000
    heap.close()
    with pytest.raises(xmc.UnmappedError):
        v.sum()


def test_debug_heap(context, queue):
    with xmc.Heap(context, 16 << 20, debug=1) as heap, heap.mapped(queue) as m:
        with pytest.raises(xmc.Error, match="XMC_HEAP_IS_DEBUG"):
            m.malloc(10)
