// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma.
#define KERNELS avx512
#define VECTOR_BYTES 64
#include "libraries/dnn/cpu/attention/kernels_for.hpp"
