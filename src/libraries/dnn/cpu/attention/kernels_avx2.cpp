// Compiled with -mavx2 -mfma.
#define KERNELS avx2
#define VECTOR_BYTES 32
#include "libraries/dnn/cpu/attention/kernels_for.hpp"
