#define KERNELS avx512
#include "libraries/dnn/cpu/line_kernels_for.hpp"
