# SPDX-License-Identifier: MIT
"""What a heap tells of its contents."""

import dataclasses
import json
import xml.etree.ElementTree as xml

import numpy as np
import pyopencl as cl
import pytest
from conftest import NODE_SOURCE

import pyxmalloc as xmc


def test_stats_and_blocks(heap, program, queue, refs):
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    program.take(queue, (3,), None, heap, refs.data, np.uint32(100000))
    stats = heap.stats(queue)
    blocks = heap.blocks(queue)
    assert len(blocks) == stats.live_blocks == 1003
    assert sum(b.usable for b in blocks) == stats.live_bytes
    assert [b.ref for b in blocks] == sorted(b.ref for b in blocks)
    assert set(refs.get().tolist()) <= {b.ref for b in blocks}
    assert sum(b.size_class is None for b in blocks) == stats.memoryblocks == 3
    assert stats.classes == {112: 1000}
    assert stats.heap_bytes == heap.nbytes
    assert stats.metadata_bytes == heap.metadata_bytes
    told = json.loads(heap.json(queue))
    for field in dataclasses.fields(stats):
        if field.name != "classes":
            assert int(str(told[field.name]), 0) == getattr(stats, field.name)


def test_texts(heap, program, queue, refs):
    assert heap.leaks(queue) == "XMalloc: no block is allocated\n"
    program.take(queue, refs.shape, None, heap, refs.data, np.uint32(100))
    assert "1,000 blocks are still allocated" in heap.leaks(queue)
    assert heap.table(queue).startswith("XMalloc heap, 64 MiB\n")
    for svg in (heap.map_svg(queue), heap._repr_svg_()):
        assert xml.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
        assert "1,000 live blocks" in svg
    heap.close()
    assert heap._repr_svg_() is None


def test_failures(heap, program, queue, refs):
    program.take(queue, (5,), None, heap, refs.data, np.uint32(1 << 31))
    refs[0] = 2_000_000
    program.give(queue, (1,), None, heap, refs.data)
    stats = heap.stats(queue)
    assert (stats.failed_requests, stats.first_failure_size) == (5, 1 << 31)
    assert (stats.invalid_frees, stats.first_invalid_free) == (1, 2_000_000)


def test_check(context, queue):
    heap = xmc.Heap(context, 16 << 20)
    heap.check(queue)
    cl.enqueue_copy(queue, heap.buffer, np.full(8, 0x5A, np.uint8), dst_offset=heap.metadata_bytes // 2)
    with pytest.raises(xmc.HeapCorrupt, match="XMC_HEAP_CORRUPT") as e:
        heap.check(queue)
    report = e.value.report
    assert report.problems > 0
    assert report.code != xmc.Problem.NONE
    assert 0 < report.offset < heap.nbytes
    assert report.message in str(e.value)


def test_debug(context, queue, refs):
    with xmc.Heap(context, 16 << 20, debug=3) as heap:
        program = heap.program(NODE_SOURCE).build()
        program.take(queue, (10,), None, heap, refs.data, np.uint32(33))
        blocks = heap.blocks(queue)
        assert [b.size for b in blocks] == [33] * 10
        line = 1 + NODE_SOURCE[: NODE_SOURCE.index("xmcMalloc(heap, size))")].count("\n")
        assert {(b.file, b.line) for b in blocks} == {("<kernel>", line)}


def test_change(heap, program, queue, refs):
    before = heap.stats(queue)
    blocks = set(heap.blocks(queue))
    program.take(queue, (10,), None, heap, refs.data, np.uint32(100))
    program.take(queue, (1,), None, heap, refs.data, np.uint32(100000))
    middle = heap.stats(queue)
    change = middle - before
    assert (change.added_blocks, change.removed_blocks, change.memoryblocks) == (11, 0, 1)
    assert change.added_bytes == middle.live_bytes
    assert change.classes == {112: 10}
    assert len(set(heap.blocks(queue)) - blocks) == 11
    program.give(queue, (10,), None, heap, refs.data)
    program.give(queue, (2,), None, heap, refs.data)
    program.take(queue, (3,), None, heap, refs.data, np.uint32(16))
    change = heap.stats(queue) - middle
    assert (change.added_blocks, change.added_bytes) == (3, 48)
    assert (change.removed_blocks, change.memoryblocks) == (10, -1)
    assert change.removed_bytes == middle.live_bytes - 112
    assert change.classes == {16: 3, 112: -9}
    assert (change.double_frees, change.failed_requests) == (2, 0)


def test_callback(heap, program, queue, refs):
    told = []

    def callback(event, value, id):
        told.append((event, value, id))
        assert heap.stats(queue).failed_requests == 1

    heap.on_failure(callback)
    program.take(queue, (1,), None, heap, refs.data, np.uint32(1 << 31))
    heap.stats(queue)
    assert [t[:2] for t in told] == [(xmc.Event.FAILED_REQUEST, 1 << 31)]
    refs[0] = 2_000_000
    program.give(queue, (1,), None, heap, refs.data)
    with heap.mapped(queue):
        assert told[1:] == [(xmc.Event.INVALID_FREE, 2_000_000, 0)]
    heap.on_failure(None)
    heap.stats(queue)
    assert len(told) == 2


def test_callback_closes(context, queue):
    heap = xmc.Heap(context, 16 << 20)
    heap.on_failure(lambda *_: heap.close())
    with heap.mapped(queue) as m, pytest.raises(xmc.Error):
        m.malloc(1 << 30)
    assert heap.closed


def test_trace(context):
    with xmc.Heap(context, 16 << 20, trace_nbytes=1 << 16) as heap:
        with heap.mapped() as m:
            view = m.malloc(100)
            m.malloc(5000)
            m.free(view)
        trace = json.loads(heap.trace())
        assert [e["name"] for e in trace["traceEvents"] if e["ph"] == "i"] == ["malloc", "malloc", "free"]
        assert trace["otherData"]["live_blocks"] == heap.stats().live_blocks == 1
        assert heap.trace(xmc.Trace.FOLDED) == "<host>;<host>;5120 B 5120\n"
        assert heap.trace(xmc.Trace.TOP).startswith("XMalloc: 3 events\n")
    with xmc.Heap(context, 16 << 20) as heap, pytest.raises(xmc.Error) as error:
        heap.trace()
    assert error.value.status == xmc.Status.HEAP_NOT_TRACED


def test_show(context, monkeypatch, capfd):
    heap = xmc.Heap(context, 16 << 20)
    monkeypatch.setenv("XMC_SHOW", "stats,leaks")
    heap.close()
    shown = capfd.readouterr().err
    assert shown.startswith("XMalloc heap, 16 MiB\n")
    assert shown.endswith("XMalloc: no block is allocated\n")
