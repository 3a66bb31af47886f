// Compiled with -mavx2 -mfma.
#define KERNELS avx2_kernels
#include "libraries/elementwise/cpu/block_kernels_for.hpp"
