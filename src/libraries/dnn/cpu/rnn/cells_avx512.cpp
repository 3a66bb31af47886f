// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma.
#define CELLS avx512
#define VECTOR_BYTES 64
#define ROWS 12
#include "libraries/dnn/cpu/rnn/cells_for.hpp"
