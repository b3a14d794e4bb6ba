/* SPDX-License-Identifier: MIT */
/* A user's header that includes the device library where the program has not done so */
#ifndef GUARDED_HEADER_H
#define GUARDED_HEADER_H
#ifndef XMC_XMALLOC_CL
#include "xmalloc.cl"
#endif
typedef struct own_node {
  xmcRef next;
  uint value;
} own_node;
#endif
