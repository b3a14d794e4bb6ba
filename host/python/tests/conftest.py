# SPDX-License-Identifier: MIT
import os

import pyopencl as cl
import pyopencl.array  # noqa: F401
import pytest

import pyxmalloc as xmc


def _device():
    """The first device whose name, or whose platform's, contains XMC_TEST_DEVICE."""
    wanted = os.environ.get("XMC_TEST_DEVICE", "")
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if wanted in device.name or wanted in platform.name:
                return device
    raise LookupError(f"no OpenCL device {wanted!r}")


@pytest.fixture(scope="session")
def context():
    return cl.Context([_device()])


@pytest.fixture(scope="session")
def queue(context):
    return cl.CommandQueue(context)


@pytest.fixture(params=xmc.Backing, ids=lambda b: b.name)
def heap(request, context):
    """A heap of 64 MiB in each kind of memory that the device has"""
    try:
        heap = xmc.Heap(context, 64 << 20, backing=request.param)
    except xmc.Error as e:
        if e.status == xmc.Status.SVM_UNAVAILABLE:
            pytest.skip("the device has no such memory")
        raise
    with heap:
        yield heap


NODE_SOURCE = """
typedef struct node { xmcRef next; uint value; } node;

/* Pushes each work-item's number to a list whose head is a reference. */
__kernel void push(__global xmcHeap *heap, volatile __global ulong *head) {
  __global node *n = xmcMalloc(heap, sizeof(node));
  if (!n) return;
  n->value = (uint)get_global_id(0);
  n->next = atom_xchg(head, xmcToRef(heap, n));
}

__kernel void take(__global xmcHeap *heap, __global ulong *refs, uint size) {
  refs[get_global_id(0)] = xmcToRef(heap, xmcMalloc(heap, size));
}

__kernel void give(__global xmcHeap *heap, __global const ulong *refs) {
  xmcFree(heap, xmcFromRef(heap, refs[get_global_id(0)]));
}
"""


@pytest.fixture(scope="session")
def programs():
    return {}


@pytest.fixture
def program(heap, programs):
    """The kernels above, built once for each kind of heap"""
    if heap.build_options not in programs:
        programs[heap.build_options] = heap.program(NODE_SOURCE).build()
    return programs[heap.build_options]


@pytest.fixture
def refs(queue):
    return cl.array.zeros(queue, 1000, "uint64")
