# SPDX-License-Identifier: MIT
"""Programs for a heap, as PyOpenCL has them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from ._errors import Status
from ._library import check

if TYPE_CHECKING:
    from ._heap import Heap


class Kernel(cl.Kernel):
    """A kernel that takes a :class:`Heap` as an argument. The heap lives as long as the kernel. A call while the heap is
    mapped raises :class:`Error`."""

    def __init__(self, program: cl.Program, name: str) -> None:
        super().__init__(program, name)
        self._heaps: dict[int, Heap] = {}

    def _plain(self, index: int, argument: Any) -> Any:
        """What PyOpenCL takes for an argument: a heap is checked against the program and becomes its buffer."""
        from ._heap import Heap

        if not isinstance(argument, Heap):
            return argument
        argument.set_argument(self, index)
        self._heaps[index] = argument
        return argument.buffer

    def set_arg(self, index: int, argument: Any, /) -> None:
        super().set_arg(index, self._plain(index, argument))

    def set_args(self, *arguments: Any) -> None:
        super().set_args(*(self._plain(i, a) for i, a in enumerate(arguments)))

    def __call__(
        self, queue: cl.CommandQueue, global_work_size: Any, local_work_size: Any, *arguments: Any, **more: Any
    ) -> cl.Event:
        plain = [self._plain(i, a) for i, a in enumerate(arguments)]
        if any(heap._mapped and not heap.host_always for heap in self._heaps.values()):
            check(Status.HEAP_MAPPED)
        return super().__call__(queue, global_work_size, local_work_size, *plain, **more)


class Program(cl.Program):
    """A :class:`pyopencl.Program` with the device library in its source; ``heap.program(source)`` makes it. It serves
    every heap made with the same properties on the same device and context. Its kernels are :class:`Kernel`."""

    def __init__(self, heap: Heap, source: str) -> None:
        super().__init__(heap.context, source)
        self._heap_device = heap.device
        self._heap_options = shlex.split(heap.build_options)
        self._geometry_options = shlex.split(heap.geometry_options)

    def build(  # type: ignore[override]
        self,
        options: str | Sequence[str] = (),
        devices: Sequence[cl.Device] | None = None,
        cache_dir: str | None = None,
        *,
        geometry: bool = False,
    ) -> Program:
        """Builds the program with the heap's options, and then those given, and returns it.

        :param geometry: build for heaps of this size only, which is some per cent faster on GPUs
            (``xmcGetGeometryOptions``).
        """
        own = shlex.split(options) if isinstance(options, str) else list(options)
        all_options = [*self._heap_options, *(self._geometry_options if geometry else ()), *own]
        super().build(all_options, devices or [self._heap_device], cache_dir)
        return self

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return Kernel(self, name)
        except cl.LogicError as e:
            raise AttributeError(f"the program has no kernel {name!r}, or build() was not called") from e

    def all_kernels(self) -> list[Kernel]:
        return [Kernel(self, k.function_name) for k in super().all_kernels()]
