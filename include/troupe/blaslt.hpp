#pragma once

/// Matrix products with scales, epilogues and small types (cuBLASLt).

#include <troupe/blaslt/matmul.hpp>
#include <troupe/blaslt/modes.hpp>
