/* test_simt.c with the papers' compartments */
#define XMC_COALESCING 1
#include "test_simt.c"
