#pragma once

#include "backend/cuda/context/late_failure.cuh"
#include "libraries/sparse/cuda/pattern_check.hpp"

namespace troupe::cuda {

/// Everything that kernels need to report a fault of a pattern.
struct pattern_report {
  sparse::pattern_checks checks;
  const unsigned long long* first_fault;
  late_words major;
  late_words minor;

  pattern_report(const sparse_matrix& a, sparse::pattern_claim claim,
                 const unsigned long long* first)
      : checks(sparse::pattern_of(a), claim),
        first_fault(first),
        major(sparse::major_word(a.format)),
        minor(sparse::minor_word(a.format)) {}

  /// Fails the request if there is a fault. \returns whether there is one
  __device__ bool write(late_failure failure) const {
    const auto first = static_cast<std::int64_t>(*first_fault);
    if (first == no_fault) return false;
    sparse::tell(checks.check(first), major, minor,
                 [&](const auto&... parts) { failure.write(errc::invalid_argument, parts...); });
    return true;
  }
};

}  // namespace troupe::cuda
