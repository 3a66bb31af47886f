// Compiled with -mavx512f.
#define KERNELS avx512_product_kernels
#define LANE_BYTES 64
#define ROWS 12
#include "libraries/dnn/cpu/product_kernels_for.hpp"
