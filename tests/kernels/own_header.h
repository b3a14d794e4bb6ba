/* SPDX-License-Identifier: MIT */
/* A user's header that includes the device library itself */
#ifndef OWN_HEADER_H
#define OWN_HEADER_H
#include "xmalloc.cl"
typedef struct own_node {
  xmcRef next;
  uint value;
} own_node;
#endif
