#define KERNELS avx512
#include "libraries/dnn/cpu/lines/line_kernels_for.hpp"
