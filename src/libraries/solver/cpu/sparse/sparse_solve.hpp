#pragma once

#include <troupe/base/result.hpp>
#include <troupe/solver/sparse_direct.hpp>

namespace troupe::cpu {

// Each in a source of its own: Eigen takes long to compile.
[[nodiscard]] result<void> solve_cholesky(const solver::sparse_cholesky& r);
[[nodiscard]] result<void> solve_lu(const solver::sparse_lu& r);
[[nodiscard]] result<void> solve_qr(const solver::sparse_qr& r);

}  // namespace troupe::cpu
