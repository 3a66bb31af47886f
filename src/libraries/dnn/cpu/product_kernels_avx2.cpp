// Compiled with -mavx2 -mfma.
#define KERNELS avx2_product_kernels
#define LANE_BYTES 32
#define ROWS 6
#include "libraries/dnn/cpu/product_kernels_for.hpp"
