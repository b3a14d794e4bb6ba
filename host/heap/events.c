/* SPDX-License-Identifier: MIT */
/* xmcSetHeapCallback: a host function that reads a heap's counters finds the first failures, and calls back.
 *
 *   events_told  is a subset of  the kinds whose counters are not 0      since creation, reset or xmcSetHeapCallback
 */
#include "internal.h"

/* The header holds each reference plus 1, so that 0 means none. */
static xmc_u64 ref_of(xmc_u64 kept) { return kept ? kept - 1u : 0; }

static void events_of(const xmcHeap *header, xmc_event events[XMC_EVENTS]) {
  const xmc_event found[XMC_EVENTS] = {
      {header->failed_requests, header->first_failure_size, header->first_failure_id},
      {header->double_frees, ref_of(header->first_double_free), 0},
      {header->invalid_frees, ref_of(header->first_invalid_free), 0},
      {header->red_zone_errors, ref_of(header->first_red_zone_error), 0},
      {header->use_after_frees, ref_of(header->first_use_after_free), 0}};
  for (unsigned i = 0; i < XMC_EVENTS; i++)
    events[i] = found[i];
}

void xmc_note_events(xmc_heap heap, const xmcHeap *header) {
  xmc_event events[XMC_EVENTS];
  unsigned i;
  events_of(header, events);
  pthread_mutex_lock(&heap->event_lock);
  heap->news.callback = heap->event_callback;
  heap->news.data = heap->event_data;
  for (i = 0; heap->event_callback && i < XMC_EVENTS; i++)
    if (events[i].count && !(heap->events_told >> i & 1u)) {
      heap->events_told |= 1u << i;
      heap->news.kinds |= 1u << i;
      heap->news.events[i] = events[i];
    }
  pthread_mutex_unlock(&heap->event_lock);
}

void xmc_tell_news(xmc_heap heap, const xmc_news *news) {
  unsigned i;
  for (i = 0; news->callback && i < XMC_EVENTS; i++)
    if (news->kinds >> i & 1u)
      news->callback(heap, XMC_EVENT_FAILED_REQUEST + i, news->events[i].value, news->events[i].id,
                     news->data);
}

void xmc_look_for_events(xmc_heap heap, cl_command_queue queue) {
  xmcHeap header;
  int wanted;
  pthread_mutex_lock(&heap->event_lock);
  wanted = heap->event_callback != NULL;
  pthread_mutex_unlock(&heap->event_lock);
  if (wanted && xmc_arena_read(heap, queue, 0, sizeof header, &header) == CL_SUCCESS &&
      xmc_is_geometry_of(heap, &header))
    xmc_note_events(heap, &header);
}

void xmc_forget_events(xmc_heap heap) {
  pthread_mutex_lock(&heap->event_lock);
  heap->events_told = 0;
  pthread_mutex_unlock(&heap->event_lock);
}

cl_int xmcSetHeapCallback(xmc_heap heap, xmc_event_callback callback, void *data) {
  cl_int status = xmc_check_handle(heap);
  if (status != CL_SUCCESS)
    return status;
  pthread_mutex_lock(&heap->event_lock);
  heap->event_callback = callback;
  heap->event_data = data;
  heap->events_told = 0;
  pthread_mutex_unlock(&heap->event_lock);
  return CL_SUCCESS;
}
