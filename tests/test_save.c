/* SPDX-License-Identifier: MIT */
/* Heaps in files: what was saved comes back on every backing with its references, and can be used on; files
 * that were altered are refused and leave nothing behind. */
#include "support/harness.h"
#include "file/heap_file.h"
#include "heap/internal.h"
#include "heap/layout.h"
#include <unistd.h>

typedef struct list {
  xmc_heap heap;
  cl_ulong root;
  cl_uint next; /* value of the next node */
} list;

static cl_mem list_out(test_env *env) { return test_buffer(env, 3 * sizeof(cl_ulong), NULL); }

static void list_push(test_env *env, list *l, cl_uint count) {
  cl_mem errors = test_buffer(env, sizeof(cl_uint), NULL);
  cl_uint failed = 1;
  test_launch(env, test_kernel(env, l->heap, "list.cl", "list_push", NULL), count, 16, "hUuum", l->heap,
              l->root, l->next, count, errors);
  test_read(env, errors, &failed, sizeof failed);
  assert_int_equal(failed, 0);
  l->next += count;
}

/* Every node of the list is there, with its contents; or, thin, every second is dropped. */
static void list_walk(test_env *env, const list *l, cl_uint thin, cl_ulong *nodes, cl_ulong *sum) {
  cl_mem out = list_out(env);
  cl_ulong told[3];
  test_launch(env, test_kernel(env, l->heap, "list.cl", "list_walk", NULL), 1, 1, "hUum", l->heap, l->root,
              thin, out);
  test_read(env, out, told, sizeof told);
  assert_int_equal(told[2], 0);
  *nodes = told[0];
  *sum = told[1];
}

static void list_is(test_env *env, const list *l, cl_ulong nodes, cl_ulong sum) {
  cl_ulong have_nodes, have_sum;
  list_walk(env, l, 0, &have_nodes, &have_sum);
  assert_int_equal(have_nodes, nodes);
  assert_int_equal(have_sum, sum);
}

static list list_new(test_env *env, size_t bytes, cl_uint count) {
  list l = {test_heap(env, bytes), 0, 1};
  cl_mem out = list_out(env);
  test_launch(env, test_kernel(env, l.heap, "list.cl", "list_begin", NULL), 1, 1, "hm", l.heap, out);
  test_read(env, out, &l.root, sizeof l.root);
  assert_true(l.root != 0);
  list_push(env, &l, count);
  return l;
}

/* A name for a file that is removed at the end of the test */
static const char *new_path(test_env *env) {
  const char *folder = getenv("TMPDIR");
  char *path = test_alloc(env, 256);
  int fd;
  snprintf(path, 256, "%s/xmc-test-XXXXXX", folder && *folder ? folder : "/tmp");
  fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  return path;
}

static xmc_heap load(test_env *env, cl_uint backing, const char *path) {
  const xmc_heap_properties properties[] = {XMC_HEAP_BACKING, backing, 0};
  cl_int status = 1;
  xmc_heap heap = xmcLoadHeap(env->context, env->device->id, properties, path, &status);
  CL_OK(status);
  assert_non_null(heap);
  env->heaps[env->heap_count++] = heap;
  return heap;
}

static int has_backing(const test_env *env, cl_uint backing) {
  cl_bitfield svm = env->device->svm;
  return backing == XMC_BACKING_BUFFER ||
         (backing == XMC_BACKING_SVM && (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) ||
         (backing == XMC_BACKING_SVM_FINE && (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER));
}

/* Saved in the env's configuration, loaded on every backing; extended there by kernels and saved again. */
static void round_trip(test_env *env) {
  cl_uint count = (cl_uint)test_scaled(env, 200, 2000, 20000), backing;
  list l = list_new(env, 32 << 20, count), m;
  cl_ulong nodes, sum, thin_sum;
  const char *path = new_path(env);
  xmc_heap_stats before, after;
  list_walk(env, &l, 1, &nodes, &sum); /* holes */
  assert_int_equal(nodes, count);
  list_walk(env, &l, 0, &nodes, &thin_sum);
  assert_int_equal(nodes, (count + 1) / 2);
  assert_int_equal(thin_sum, sum);
  before = test_intact(env, l.heap);
  CL_OK(xmcSaveHeap(l.heap, env->queue, path));
  for (backing = XMC_BACKING_BUFFER; backing <= XMC_BACKING_SVM_FINE; backing++) {
    if (!has_backing(env, backing))
      continue;
    m = l;
    m.heap = load(env, backing, path);
    assert_string_equal(xmcGetGeometryOptions(m.heap), "");
    after = test_intact(env, m.heap);
    assert_memory_equal(&before, &after, sizeof before);
    list_is(env, &m, nodes, sum);
    list_push(env, &m, 500);
    CL_OK(xmcSaveHeap(m.heap, NULL, path)); /* the next one continues this one */
    nodes += 500;
    sum += (cl_ulong)500 * m.next - 500 * 501 / 2;
    l.next = m.next;
    before = test_intact(env, m.heap);
    list_is(env, &m, nodes, sum);
  }
  CL_OK(xmcResetHeap(m.heap, NULL));
  test_empty(env, m.heap);
  remove(path);
}

/* The host goes on where a kernel stopped, in the loaded heap, and saves it while it is mapped. */
static void mapped(test_env *env) {
  list l = list_new(env, 8 << 20, 100), m = l;
  const char *path = new_path(env);
  cl_ulong *root, sum = 100 * 101 / 2;
  struct {
    cl_ulong next;
    cl_uint value, bytes;
  } * node;
  CL_OK(xmcSaveHeap(l.heap, NULL, path));
  m.heap = load(env, env->config.backing, path);
  CL_OK(xmcMapHeap(m.heap, NULL));
  root = xmcHostFromRef(m.heap, m.root);
  node = xmcHostMalloc(m.heap, sizeof *node, NULL);
  assert_non_null(node);
  node->next = *root;
  node->value = 5000;
  node->bytes = sizeof *node;
  *root = xmcHostToRef(m.heap, node);
  CL_OK(xmcSaveHeap(m.heap, NULL, path));
  CL_OK(xmcUnmapHeap(m.heap, NULL));
  m.heap = load(env, XMC_BACKING_BUFFER, path);
  list_is(env, &m, 101, sum + 5000);
  remove(path);
}

/* ---- altered files ---- */

typedef struct bytes {
  unsigned char *at;
  size_t count;
} bytes;

static bytes read_file(test_env *env, const char *path) {
  bytes b;
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  b.count = (size_t)ftell(f);
  b.at = test_alloc(env, b.count);
  rewind(f);
  assert_int_equal(fread(b.at, 1, b.count, f), b.count);
  fclose(f);
  return b;
}

static void write_file(const char *path, const unsigned char *at, size_t count) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(at, 1, count, f), count);
  assert_int_equal(fclose(f), 0);
}

/* Loads what may be damaged: the status; a heap that comes of it passes the check. */
static cl_int try_to_load(test_env *env, const char *path) {
  cl_int status = 1;
  xmc_heap heap = xmcLoadHeap(env->context, env->device->id, NULL, path, &status);
  assert_true((heap != NULL) == (status == CL_SUCCESS));
  if (heap) {
    test_intact(env, heap);
    CL_OK(xmcReleaseHeap(heap));
  }
  return status;
}

static void truncated_or_flipped(test_env *env) {
  list l = list_new(env, 4 << 20, 150);
  const char *path = new_path(env);
  bytes b;
  unsigned i;
  CL_OK(xmcSaveHeap(l.heap, NULL, path));
  b = read_file(env, path);
  assert_true(b.count < 2 << 20);
  for (i = 0; i < 100; i++) {
    cl_int status;
    if (i % 2) {
      size_t bit = test_hash(i) % (8 * (i % 4 == 1 ? b.count : 4096)); /* half of them near the head */
      b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
      write_file(path, b.at, b.count);
      b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
      status = try_to_load(env, path);
      assert_true(status == XMC_FILE_DAMAGED || status == XMC_FILE_FOREIGN || status == XMC_FILE_VERSION);
    } else {
      write_file(path, b.at, test_hash(i) % b.count);
      status = try_to_load(env, path);
      assert_true(status == XMC_FILE_TRUNCATED || status == XMC_FILE_FOREIGN);
    }
  }
  write_file(path, b.at, b.count);
  assert_int_equal(try_to_load(env, path), CL_SUCCESS);
  remove(path);
}

/* Every bit of the head and of the first section's, one by one */
static void each_bit(test_env *env) {
  list l = list_new(env, 4 << 20, 20);
  const char *path = new_path(env);
  size_t bit;
  bytes b;
  CL_OK(xmcSaveHeap(l.heap, NULL, path));
  b = read_file(env, path);
  remove(path);
  for (bit = 0; bit < 8 * 128; bit++) {
    xmcHeap *meta = NULL;
    long long fifos;
    cl_int status;
    FILE *f = fmemopen(b.at, b.count, "rb");
    assert_non_null(f);
    b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    status = xmc_file_read(f, &meta, &fifos, NULL, NULL);
    b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    fclose(f);
    assert_null(meta);
    if (status != XMC_FILE_DAMAGED &&
        (bit >= 8 * 24 || (status != XMC_FILE_FOREIGN && status != XMC_FILE_VERSION)))
      fail_msg("bit %zu: %s", bit, xmcErrorString(status));
  }
}

static void foreign(test_env *env) {
  static const unsigned char text[] =
      "This is no heap. It is a text that is longer than a heap's head, or nearly so.";
  /* those it was made with, as far as they say something of this heap */
  const xmc_heap_properties fine[] = {
      XMC_HEAP_COALESCING, XMC_COALESCE_CLASS, XMC_HEAP_MAX_BYTES, 0, XMC_HEAP_TRACE_EVERY, 5, 0};
  const xmc_heap_properties wrong[] = {XMC_HEAP_FIFOS, 3, 0};
  list l = list_new(env, 4 << 20, 10);
  const char *path = new_path(env);
  cl_int status = 1;
  bytes b;
  CL_OK(xmcSaveHeap(l.heap, NULL, path));
  b = read_file(env, path);
  assert_null(xmcLoadHeap(env->context, env->device->id, wrong, path, &status));
  assert_int_equal(status, CL_INVALID_PROPERTY);
  assert_null(xmcLoadHeap(NULL, env->device->id, NULL, path, &status));
  assert_int_equal(status, CL_INVALID_CONTEXT);
  assert_null(xmcLoadHeap(env->context, env->device->id, NULL, NULL, &status));
  assert_int_equal(status, CL_INVALID_VALUE);
  l.heap = xmcLoadHeap(env->context, env->device->id, fine, path, &status);
  CL_OK(status);
  CL_OK(xmcReleaseHeap(l.heap));
  b.at[8]++; /* another format */
  write_file(path, b.at, b.count);
  assert_int_equal(try_to_load(env, path), XMC_FILE_VERSION);
  write_file(path, text, sizeof text);
  assert_int_equal(try_to_load(env, path), XMC_FILE_FOREIGN);
  write_file(path, text, 0);
  assert_int_equal(try_to_load(env, path), XMC_FILE_FOREIGN);
  b.at[8]--;
  b.at = realloc(b.at, b.count + 1);
  env->blocks[env->block_count - 1] = b.at;
  b.at[b.count] = 0; /* one byte too many */
  write_file(path, b.at, b.count + 1);
  assert_int_equal(try_to_load(env, path), XMC_FILE_DAMAGED);
  remove(path);
  assert_int_equal(try_to_load(env, path), XMC_FILE_UNUSABLE);
  assert_int_equal(xmcSaveHeap(env->heaps[0], NULL, "/nowhere/at/all"), XMC_FILE_UNUSABLE);
  assert_int_equal(xmcSaveHeap(env->heaps[0], NULL, NULL), CL_INVALID_VALUE);
  assert_int_equal(xmcSaveHeap(NULL, NULL, path), XMC_INVALID_HEAP);
}

static cl_int get_from(void *data, xmc_u64 offset, xmc_u64 count, void *to) {
  memcpy(to, (char *)data + offset, (size_t)count);
  return CL_SUCCESS;
}

/* Metadata that lies, with right sums: nothing it says is believed without a check. */
static void crafted(test_env *env) {
  size_t size = 4 << 20, words, i;
  list l = list_new(env, size, 150);
  const char *path = new_path(env);
  char *arena = test_alloc(env, size);
  xmcHeap *meta = (xmcHeap *)arena;
  unsigned refused = 0;
  test_read_arena(env, l.heap, 0, size, arena);
  words = (size_t)meta->data / 8;
  for (i = 0; i < 300; i++) {
    size_t at = i < 150 ? i : test_hash(i) % words; /* every word of the header, then any */
    xmc_u64 *word = (xmc_u64 *)arena + at, was = *word;
    cl_int status;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    *word = i % 3 == 0 ? test_hash(i) : i % 3 == 1 ? was + 1 : was ^ (xmc_u64)1 << test_hash(i) % 64;
    if (at >= offsetof(xmcHeap, data) / 8 && at <= offsetof(xmcHeap, bytes) / 8) {
      assert_false(xmc_layout_is_consistent(meta)); /* what the writer itself goes by */
      *word = was;
    }
    status = xmc_file_write(f, meta, -1, get_from, arena);
    *word = was;
    assert_int_equal(status, CL_SUCCESS);
    assert_int_equal(fclose(f), 0);
    refused += try_to_load(env, path) != CL_SUCCESS;
  }
  print_message("%u of 300 refused; the others pass the check\n", refused);
  assert_true(refused > 80);
  remove(path);
}

/* Pages that have joined blocks, or had some, which their entries say: a file with such pages is for CPU devices, because programs for
 * GPUs find no block there. */
static void joined(test_env *env) {
  size_t size = 4 << 20;
  list l = list_new(env, size, 150);
  const char *path = new_path(env);
  char *arena = test_alloc(env, size);
  xmcHeap *meta = (xmcHeap *)arena;
  xmc_u32 page, marked = 0;
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  test_read_arena(env, l.heap, 0, size, arena);
  for (page = 0; page < meta->present; page++) {
    xmc_u64 *entry = (xmc_u64 *)(arena + meta->page_map) + page;
    if (xmc_map_class(*entry) - 1u < XMC_CLASSES - 1u) {
      *entry = xmc_map_joined(*entry);
      marked++;
    }
  }
  assert_true(marked > 0);
  CL_OK(xmc_file_write(f, meta, -1, get_from, arena));
  assert_int_equal(fclose(f), 0);
  assert_int_equal(try_to_load(env, path), l.heap->probe.simt ? XMC_HEAP_MISMATCH : CL_SUCCESS);
  remove(path);
}

/* A damaged heap is not saved. */
static void corrupt(test_env *env) {
  list l = list_new(env, 4 << 20, 10);
  const char *path = new_path(env);
  cl_ulong word = 12345;
  remove(path);
  test_write_arena(env, l.heap, offsetof(xmcHeap, data), sizeof word, &word); /* where the data lies */
  assert_int_equal(xmcSaveHeap(l.heap, NULL, path), XMC_HEAP_CORRUPT);
  assert_int_equal(access(path, F_OK), -1);
}

/* The file of a large heap with little in it is small. */
static void sparse(test_env *env) {
  size_t size = test_scaled(env, (size_t)64 << 20, (size_t)256 << 20, (size_t)2 << 30);
  list l = list_new(env, size, 64);
  const char *path = new_path(env);
  CL_OK(xmcSaveHeap(l.heap, NULL, path));
  size = read_file(env, path).count;
  assert_true(size >= 20000 && size <= 4 << 20);
  l.heap = load(env, XMC_BACKING_BUFFER, path);
  list_is(env, &l, 64, 64 * 65 / 2);
  remove(path);
}

int main(int argc, char **argv) {
  static const test_case cases[] = {
      TEST(round_trip, SPREAD_AXES), TEST(mapped, SPREAD_AXES),  TEST(truncated_or_flipped, SPREAD_ONE),
      TEST(foreign, SPREAD_ONE),     TEST(each_bit, SPREAD_ONE), TEST(crafted, SPREAD_ONE),
      TEST(corrupt, SPREAD_ONE),     TEST(sparse, SPREAD_ONE),   TEST(joined, SPREAD_ONE)};
  return test_main("save", cases, sizeof cases / sizeof *cases, argc, argv);
}
