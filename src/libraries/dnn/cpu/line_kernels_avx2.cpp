#define KERNELS avx2
#include "libraries/dnn/cpu/line_kernels_for.hpp"
