#define KERNELS avx2
#include "libraries/dnn/cpu/lines/line_kernels_for.hpp"
