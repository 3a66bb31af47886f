// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma.
#define CELLS avx512
#include "libraries/dnn/cpu/rnn/cells_for.hpp"
