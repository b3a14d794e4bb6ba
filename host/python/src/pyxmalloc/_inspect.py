# SPDX-License-Identifier: MIT
"""What a heap tells of its contents."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from ._library import BLOCK_OF_PAGES, BLOCK_OF_REGION, CBlock, CReport, CStats


class Problem(enum.IntEnum):
    """What is broken in a heap; ``xmalloc.h`` says more about each."""

    NONE = 0
    HEADER = 1
    PAGE_MAP = 2
    FREE_PAGES = 3
    STATE_WORD = 4
    NOT_LISTED = 5
    FIFO = 6
    BITMAP = 7
    COMPARTMENT = 8
    RED_ZONE = 9
    REGION = 10


@dataclasses.dataclass(frozen=True)
class Report:
    """What :meth:`Heap.check` found: how many problems, and the first of them."""

    problems: int
    offset: int
    """Where in the heap, in bytes."""
    code: Problem
    message: str


@dataclasses.dataclass(frozen=True)
class Block:
    """A live block."""

    ref: int
    size: int
    """Bytes asked for, where a debug heap knows; else as ``usable``."""
    usable: int
    """Bytes; in a debug heap those asked for."""
    size_class: int | None
    """Index of the block's size class; None for a block of whole pages."""
    file: str | None
    """The source of the call that allocated it, where a debug heap of level 3 knows."""
    line: int
    """The line in ``file``; 0 where it is not known."""


@dataclasses.dataclass(frozen=True)
class Stats:
    """What a walk through a heap found, in bytes and numbers. Live blocks count their whole size classes."""

    heap_bytes: int
    metadata_bytes: int
    """Part of ``heap_bytes`` that blocks can never use."""
    live_blocks: int
    live_bytes: int
    free_bytes: int
    largest_free_bytes: int
    """The largest request that would be granted."""
    free_block_bytes: int
    """Part of ``free_bytes``: free blocks in Superblocks in use."""
    superblocks: int
    memoryblocks: int
    """Live blocks of whole pages."""
    memoryblock_bytes: int
    failed_requests: int
    """Since creation or reset, as are all that follow."""
    first_failure_size: int
    first_failure_id: int
    """The global linear id of the work-item that made the first request that failed."""
    double_frees: int
    invalid_frees: int
    first_double_free: int
    """The reference that was freed twice first; for pointers outside the heap its low bits, as in the next one."""
    first_invalid_free: int
    red_zone_errors: int
    """Debug heaps: freed blocks beside which something was overwritten."""
    first_red_zone_error: int
    use_after_frees: int
    """Debug heaps from level 2: blocks handed out that were written to after their free."""
    first_use_after_free: int
    failed_bytes: int
    """Bytes asked for by all requests that failed, as a heap may have to grow by."""
    high_water_bytes: int
    """Pages that ever were in use since creation or reset: a bound on what was in use at once."""
    reclaimable_bytes: int
    """Pages in use in which no block is live: requests of any size get them when free pages are used up."""
    regions: int
    """Live regions; each counts as one of ``live_blocks``."""
    region_chunks: int
    """Runs of pages that they consist of."""
    region_bytes: int
    classes: dict[int, int]
    """The size of a block of each size class: how many are live. Classes without live blocks are left out."""

    def __sub__(self, before: Stats) -> Change:
        """What changed since other statistics of the same heap, which was not reset in between."""
        sizes = {*self.classes, *before.classes}
        more = {size: self.classes.get(size, 0) - before.classes.get(size, 0) for size in sorted(sizes)}
        changes = [(n, n * size) for size, n in more.items()]
        changes.append((self.memoryblocks - before.memoryblocks, self.memoryblock_bytes - before.memoryblock_bytes))
        changes.append((self.regions - before.regions, self.region_bytes - before.region_bytes))
        return Change(
            added_blocks=sum(max(n, 0) for n, _ in changes),
            added_bytes=sum(max(b, 0) for _, b in changes),
            removed_blocks=sum(max(-n, 0) for n, _ in changes),
            removed_bytes=sum(max(-b, 0) for _, b in changes),
            failed_requests=self.failed_requests - before.failed_requests,
            double_frees=self.double_frees - before.double_frees,
            invalid_frees=self.invalid_frees - before.invalid_frees,
            red_zone_errors=self.red_zone_errors - before.red_zone_errors,
            use_after_frees=self.use_after_frees - before.use_after_frees,
            memoryblocks=self.memoryblocks - before.memoryblocks,
            regions=self.regions - before.regions,
            classes={size: n for size, n in more.items() if n},
        )


@dataclasses.dataclass(frozen=True)
class Change:
    """What changed between two :class:`Stats` of one heap, for instance by one launch: ``after - before``.

    Kernels count failures, but no allocations: a block that was both allocated and freed in between is not seen. Which
    blocks are new is ``set(heap.blocks()) - set(blocks_before)``.
    """

    added_blocks: int
    """Of the size classes of which more blocks are live than before, how many more: what a launch that should free its
    blocks leaked. Blocks of whole pages count as one class."""
    added_bytes: int
    removed_blocks: int
    """Of the other size classes, how many fewer."""
    removed_bytes: int
    failed_requests: int
    double_frees: int
    invalid_frees: int
    red_zone_errors: int
    use_after_frees: int
    memoryblocks: int
    """Live blocks of whole pages, after less before."""
    regions: int
    """Live regions, after less before."""
    classes: dict[int, int]
    """The size of a block of each size class: live blocks, after less before. Classes without a change are left out."""


def stats_of(c: CStats) -> Stats:
    values: dict[str, Any] = {f.name: getattr(c, f.name) for f in dataclasses.fields(Stats) if f.name != "classes"}
    return Stats(classes={b: n for b, n in zip(c.class_bytes, c.class_live_blocks) if n}, **values)


def report_of(c: CReport) -> Report:
    return Report(c.problems, c.offset, Problem(c.code), c.message.decode(errors="replace"))


def block_of(c: CBlock) -> Block:
    return Block(
        ref=c.ref,
        size=c.size,
        usable=c.usable,
        size_class=None if c.size_class in (BLOCK_OF_PAGES, BLOCK_OF_REGION) else c.size_class,
        file=c.file.decode(errors="replace") if c.file else None,
        line=c.line,
    )
