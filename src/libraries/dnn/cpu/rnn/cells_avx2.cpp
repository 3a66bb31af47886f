// Compiled with -mavx2 -mfma.
#define CELLS avx2
#include "libraries/dnn/cpu/rnn/cells_for.hpp"
