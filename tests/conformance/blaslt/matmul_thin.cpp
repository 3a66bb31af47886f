// Products of few rows with contiguous columns, for which the CPU has loops of its own.

#include "matmul_cases.hpp"

namespace troupe::conformance {
namespace {

using blaslt::combination;

TEST(BlasltMatmul, IsRightForFewRowsAndContiguousColumns) {
  for (const combination& types : blaslt::combinations) {
    if (types.b != dtype::f32 && types.b != dtype::bf16) continue;
    for (const std::int64_t m : {1, 3, 8, 15, 17}) {
      for (const bool padded : {false, true}) {
        matmul_under_test small(
            {.types = types, .m = m, .n = 76, .k = 100, .padded = padded, .c = added::another});
        (void)small.run();
        matmul_under_test shared({.types = types, .m = m, .n = 300, .k = 100, .padded = padded});
        (void)shared.run();
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
