# SPDX-License-Identifier: MIT
"""A heap in the host's hands: its calls and views of its blocks."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import pyopencl as cl

from ._errors import UnmappedError
from ._library import check, lib, size_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ._heap import Heap


class _Memory:
    """Bytes of a heap, which NumPy reaches by the array interface. Every view of them leads back here."""

    def __init__(self, address: int, nbytes: int, calls: HostCalls) -> None:
        self.calls = calls
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": (nbytes,), "typestr": "|u1"}


_base = np.ndarray.base.__get__


def _in_reach(array: np.ndarray) -> bool:
    """False for an array in a heap whose map has ended."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = _base(base)
    return not isinstance(base, _Memory) or base.calls.usable


def _checked(array: Any) -> Any:
    """The argument; raises if it is a view whose map has ended."""
    if isinstance(array, View) and not _in_reach(array):
        raise UnmappedError("this view's map has ended; copy what is needed later")
    return array


def _plain(array: Any) -> Any:
    return np.ndarray.view(_checked(array), np.ndarray) if isinstance(array, View) else array


def _each(arguments: Iterable[Any]) -> Iterable[Any]:
    for a in arguments:
        yield from a if isinstance(a, (list, tuple)) else (a,)


class View(np.ndarray):
    """An array that is a part of a mapped heap: no copy, and what is written goes into the heap.

    Once the map has ended, whatever is done with the view raises :class:`UnmappedError`; copies and results of
    arithmetic are arrays of their own and stay. The guard is Python's: ``np.asarray(view)`` and ``memoryview(view)``
    are without it and must not be used after the map.

    An element of a structured view is a view as well, so that ``view[3]["next"] = 0`` writes to the heap; a field of
    it is a number.
    """

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__") and name not in _harmless:
            _checked(self)
        return super().__getattribute__(name)

    def __getitem__(self, key: Any) -> Any:
        _checked(self)
        item = super().__getitem__(key)
        if isinstance(item, np.void):  # it would look into the heap without a guard
            return super().__getitem__((*key, ...) if isinstance(key, tuple) else (key, ...))
        return item[()] if isinstance(item, View) and item.ndim == 0 and item.dtype.names is None else item

    def __setitem__(self, key: Any, value: Any) -> None:
        _checked(self)
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **more: Any) -> Any:
        arguments = {k: _plain(v) for k, v in more.items()}
        if out:
            arguments["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **arguments)
        return result if not out else out[0] if len(out) == 1 else out

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        for argument in _each((*args, *kwargs.values())):
            _checked(argument)
        return super().__array_function__(function, types, args, kwargs)

    def __repr__(self) -> str:
        return repr(_plain(self)) if _in_reach(self) else "<pyxmalloc.View whose map has ended>"

    def __str__(self) -> str:
        return str(_plain(self)) if _in_reach(self) else repr(self)

    # NumPy before 2.0 takes an exception in these for "not equal".
    def __eq__(self, other: object) -> Any:
        _checked(self)
        return super().__eq__(_checked(other))

    def __ne__(self, other: object) -> Any:
        _checked(self)
        return super().__ne__(_checked(other))

    def __bool__(self) -> bool:
        return bool(_plain(self))

    def __int__(self) -> int:
        return int(_plain(self))

    def __float__(self) -> float:
        return float(_plain(self))

    def __index__(self) -> int:
        return int(_plain(self).__index__())

    def __copy__(self) -> Any:
        return np.array(_plain(self))

    def __deepcopy__(self, memo: Any) -> Any:
        return np.array(_plain(self))

    def __reduce__(self) -> Any:
        return np.array(_plain(self)).__reduce__()


_harmless = frozenset(("dtype", "shape", "ndim", "size", "nbytes", "itemsize", "strides"))


class HostCalls:
    """The kernels' calls for the host, on the same heap. Blocks are named by their references. ``heap.mapped()`` gives
    one for the time of a map; ``heap.host`` one for any time, where :attr:`Heap.host_always`."""

    _unusable = "the heap is closed"

    def __init__(self, heap: Heap) -> None:
        self._heap = heap

    @property
    def usable(self) -> bool:
        """Whether calls and views work now."""
        return not self._heap.closed

    def _ref(self, address: int | None, status: ctypes.c_int32) -> int:
        check(status.value)
        return int(lib.xmcHostToRef(self._heap.handle, address)) if address else 0

    def _address(self, ref: SupportsIndex) -> int | None:
        """The host's address of a reference, which must lead into the heap; None for 0"""
        ref = operator.index(ref)
        if ref == 0:
            return None
        address = lib.xmcHostFromRef(self._heap.handle, ref) if self.usable and 0 < ref < 1 << 64 else None
        if address is None:
            if not self.usable:
                raise UnmappedError(self._unusable)
            raise ValueError(f"{ref:#x} is no reference into the heap")
        return int(address)

    def _call(self, function: Any, *arguments: Any) -> int:
        status = ctypes.c_int32()
        return self._ref(function(self._heap.handle, *arguments, ctypes.byref(status)), status)

    def malloc(self, size: SupportsIndex) -> int:
        """Allocates ``size`` bytes, aligned to 16. 0 for size 0; raises :class:`OutOfMemory`."""
        return self._call(lib.xmcHostMalloc, size_of("size", size))

    def calloc(self, count: SupportsIndex, size: SupportsIndex) -> int:
        """Allocates ``count * size`` bytes, all of them 0."""
        return self._call(lib.xmcHostCalloc, size_of("count", count), size_of("size", size))

    def aligned_alloc(self, alignment: SupportsIndex, size: SupportsIndex) -> int:
        """Allocates ``size`` bytes at a multiple of ``alignment``, a power of two, in host addresses."""
        return self._call(lib.xmcHostAlignedAlloc, size_of("alignment", alignment), size_of("size", size))

    def realloc(self, ref: SupportsIndex, size: SupportsIndex) -> int:
        """Changes a block's size and returns its new reference. Contents are kept up to the smaller size. Views of
        the block must not be used after that."""
        return self._call(lib.xmcHostRealloc, self._address(ref), size_of("size", size))

    def free(self, ref: SupportsIndex) -> None:
        """Frees a block; 0 is a no-op. Views of it must not be used after that. As in kernels, a reference that is no
        live block's changes nothing and is counted in the heap's :class:`Stats`."""
        lib.xmcHostFree(self._heap.handle, self._address(ref))

    def usable_size(self, ref: SupportsIndex) -> int:
        """Bytes that may be used at a reference; 0 if no live block begins there."""
        return int(lib.xmcHostUsableSize(self._heap.handle, self._address(ref)))

    def region_create(self) -> int:
        """A region, whose blocks are freed all at once: a number, which kernels take as a ``ulong``."""
        status = ctypes.c_int32()
        region = lib.xmcHostRegionCreate(self._heap.handle, ctypes.byref(status))
        check(status.value)
        return int(region)

    def region_malloc(self, region: SupportsIndex, size: SupportsIndex) -> int:
        """Allocates ``size`` bytes in a region, aligned to 16; they live until it is freed or reset. 0 for size 0. Raises
        :class:`OutOfMemory`, and :class:`Error` for a region that is none, which is counted."""
        return self._call(lib.xmcHostRegionMalloc, size_of("region", region), size_of("size", size))

    def region_free(self, region: SupportsIndex) -> None:
        """Frees all blocks of a region, and the region; 0 is a no-op. A number of 64 bits that is no region is counted."""
        lib.xmcHostRegionFree(self._heap.handle, size_of("region", region))

    def region_reset(self, region: SupportsIndex) -> None:
        """Frees all blocks of a region, which keeps its memory for further requests. Nobody else may use it meanwhile."""
        lib.xmcHostRegionReset(self._heap.handle, size_of("region", region))

    def region_nbytes(self, region: SupportsIndex) -> int:
        """Bytes that a region has from the heap; 0 if it is none."""
        return int(lib.xmcHostRegionBytes(self._heap.handle, size_of("region", region)))

    def view(
        self,
        ref: SupportsIndex,
        dtype: DTypeLike = np.uint8,
        shape: int | tuple[int, ...] = (),
        region: SupportsIndex = 0,
    ) -> View:
        """The block at ``ref`` as an array, without a copy.

        :param ref: what ``xmcToRef`` returned in a kernel, or a call of this object; NumPy's integers, too.
        :param shape: of the array; by default it has no dimensions, as one value has. -1: as many as the block has
            room for.
        :param region: the region that the block is of. The heap does not know the sizes of these, so the array may be
            anywhere in the heap.

        Raises ValueError if no live block begins at ``ref``, or the array is larger than the block. In debug heaps,
        which host calls do not serve, it may be anywhere in the heap.
        """
        address = self._address(ref)
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            raise TypeError("Python objects cannot lie in a heap")
        if address is None:
            raise ValueError("the reference is 0, which is NULL")
        if operator.index(region):
            room = self._heap.nbytes - int(ref) if self.region_nbytes(region) else 0
        else:
            room = self._heap.nbytes - int(ref) if self._heap.debug else self.usable_size(ref)
        if room == 0:
            raise ValueError(f"no live block begins at {int(ref):#x}")
        if shape == -1:
            shape = room // dtype.itemsize
        shape = (int(shape),) if isinstance(shape, SupportsIndex) else tuple(shape)
        if min(shape, default=0) < 0:
            raise ValueError("negative dimensions")
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes > room:
            raise ValueError(f"{nbytes} bytes do not fit the block at {int(ref):#x}, which has {room}")
        return np.asarray(_Memory(address, nbytes, self)).view(dtype).reshape(shape).view(View)


class Map(HostCalls):
    """A heap between map and unmap, for ``with heap.mapped(queue) as m``. No kernel may run on the heap meanwhile."""

    def __init__(self, heap: Heap, queue: cl.CommandQueue | None) -> None:
        super().__init__(heap)
        self._queue = queue
        self._open = False
        self._unusable = "the map has not begun: write `with heap.mapped(queue) as m:`"

    @property
    def usable(self) -> bool:
        return self._open

    def __enter__(self) -> Map:
        lib.xmcMapHeap(self._heap.handle, self._heap.queue_of(self._queue))
        self._open = self._heap._mapped = True
        return self

    def __exit__(self, *error: object) -> None:
        self._open = False
        self._unusable = "the map has ended"
        lib.xmcUnmapHeap(self._heap.handle, self._heap.queue_of(self._queue))
        self._heap._mapped = False
