#pragma once

#include "conformance/scene.hpp"
#include "reference.hpp"
#include "requests/random_functions.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>

#include <cstdint>
#include <vector>

namespace troupe::conformance::elementwise_reference {

/// Every element of an output as it must be, beside what its type makes of it.
struct expectation {
  std::vector<value> real;
  std::vector<value> imaginary;
};
/// The results of a request, by output, in row-major order of the output.
[[nodiscard]] std::vector<expectation> expected(const elementwise::function& f,
                                                const std::vector<test_tensor*>& inputs,
                                                const std::vector<test_tensor*>& outputs,
                                                const std::vector<std::int64_t>& axes);
/// Runs the function on the tensors, with `axes` as rows, and expects each element within `ulps` of
/// the output's type, or of f32 for smaller ones. \returns false at the first that is not
bool check(scene& s, const elementwise::function& f, const std::vector<test_tensor*>& inputs,
           const std::vector<test_tensor*>& outputs, double ulps,
           const std::vector<std::int64_t>& axes = {}, bool as_rows = false);

/// True if the backend under test is CUDA.
[[nodiscard]] bool on_gpu();
/// The number of random programs: TROUPE_RANDOM_PROGRAMS, or 10 000; fewer if each takes long.
[[nodiscard]] int random_programs();

}  // namespace troupe::conformance::elementwise_reference
