/* SPDX-License-Identifier: MIT */
/* Kernel of work_queue.c. An item is a block of the heap: a chess board with queens on its first rows. Serving
 * it makes an item for each place where the next queen is safe, and frees it.
 */
#include "xmalloc.cl"

typedef struct item {
  uint row;
  uint column[16];
} item;

static int is_safe(const __global item *board, uint column) {
  uint r;
  for (r = 0; r < board->row; r++)
    if (board->column[r] == column || board->column[r] + board->row == column + r ||
        board->column[r] + r == column + board->row)
      return 0;
  return 1;
}

/* Work-item i serves in[i]. counts[0] is the number of items in `out`, counts[1] that of full boards so far, counts[2]
 * that of items for which the heap or the queue had no room. */
__kernel void serve(__global xmcHeap *heap, __global const xmcRef *in, uint count, __global xmcRef *out,
                    uint room, uint size, volatile __global uint *counts) {
  uint i = (uint)get_global_id(0), column, r;
  __global item *board, *next;
  if (i >= count)
    return;
  board = (__global item *)xmcFromRef(heap, in[i]);
  if (board->row == size)
    atomic_inc(&counts[1]);
  for (column = 0; column < size && board->row < size; column++) {
    if (!is_safe(board, column))
      continue;
    next = (__global item *)xmcMalloc(heap, sizeof(item));
    r = next ? atomic_inc(&counts[0]) : room;
    if (r >= room) {
      atomic_inc(&counts[2]);
      xmcFree(heap, next);
      continue;
    }
    out[r] = xmcToRef(heap, next);
    for (r = 0; r < board->row; r++)
      next->column[r] = board->column[r];
    next->column[board->row] = column;
    next->row = board->row + 1u;
  }
  xmcFree(heap, board);
}
