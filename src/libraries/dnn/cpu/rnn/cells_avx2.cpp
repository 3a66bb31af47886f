// Compiled with -mavx2 -mfma.
#define CELLS avx2
#define VECTOR_BYTES 32
#define ROWS 6
#include "libraries/dnn/cpu/rnn/cells_for.hpp"
