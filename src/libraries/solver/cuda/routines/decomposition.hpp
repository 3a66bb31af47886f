#pragma once

#include "libraries/solver/cuda/cusolver.hpp"
#include "libraries/solver/cuda/limits.hpp"
#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/svd.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Singular values of a batch of matrices in workspace: a = left · diag(s) · rightᴴ. Routines take
/// no wide matrices, so for these the adjoint is decomposed.
class decomposition {
 public:
  struct wanted {
    solver::svd_driver driver = solver::svd_driver::automatic;
    solver::singular_vectors vectors = solver::singular_vectors::thin;
  };

  /// Precondition: neither extent is 0.
  decomposition(call_frame& c, const cusolver_lane& solver, const wanted& what, dtype type,
                std::int64_t m, std::int64_t n, std::int64_t count);
  /// The workspace of its routine. `like`: any address of device memory.
  [[nodiscard]] result<routine_bytes> bytes(const void* like) const;

  /// Enqueues copying `a` to workspace, with infinities and NaNs set aside; see
  /// `set_aside_not_finite`.
  [[nodiscard]] result<void> load(const any_tensor& a, std::uint32_t* flags, lane& where) const;
  /// May wait for the lane.
  [[nodiscard]] result<void> run(std::int32_t* info, lane& where) const;

  [[nodiscard]] std::byte* s() const noexcept { return s_; }
  [[nodiscard]] std::int64_t values() const noexcept { return values_; }
  /// The vectors, in columns; there may be more than values. Absent if no vectors are wanted.
  [[nodiscard]] const matrices& left() const noexcept { return wide_ ? *second_ : *first_; }
  [[nodiscard]] const matrices& right() const noexcept { return wide_ ? *first_ : *second_; }
  /// The tall matrices that are decomposed. Their content is lost.
  [[nodiscard]] const matrices& tall() const noexcept { return *a_; }
  [[nodiscard]] bool wide() const noexcept { return wide_; }

 private:
  enum class method : std::uint8_t { qr, jacobi, jacobi_at_once };

  [[nodiscard]] static method choose(solver::svd_driver driver, std::int64_t rows,
                                     std::int64_t count) noexcept;
  [[nodiscard]] result<void> run_one(std::int64_t b, std::int32_t* info) const;
  [[nodiscard]] result<void> run_all(std::int32_t* info) const;
  [[nodiscard]] bool has_vectors() const noexcept {
    return vectors_ != solver::singular_vectors::none;
  }
  [[nodiscard]] bool writes_vectors() const noexcept {
    return has_vectors() || (method_ == method::jacobi_at_once &&
                             !limits::cusolver::accepts_batches_without_vectors());
  }
  [[nodiscard]] bool full() const noexcept { return vectors_ == solver::singular_vectors::full; }

  const call_frame& frame_;
  const cusolver_lane& solver_;
  solver::singular_vectors vectors_;
  method method_;
  bool wide_;
  std::int64_t values_;
  frame_matrices a_;
  frame_array<std::byte> s_;
  frame_matrices first_;  // for the tall matrix
  frame_matrices
      second_;  // for the tall matrix; xGESVD writes the adjoint, which is then transposed
  frame_matrices turned_;
  frame_array<std::byte> scales_;
};

}  // namespace troupe::cuda
