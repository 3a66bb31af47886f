#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover sparse(
    "sparse",
    {{"structured_prune structured_check structured_compress structured_matmul",
      {f16, bf16, i8, e4m3}}});

}  // namespace
}  // namespace troupe::conformance
