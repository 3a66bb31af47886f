#pragma once

#include "libraries/solver/cuda/cusolver.hpp"
#include "libraries/solver/cuda/limits.hpp"
#include "libraries/solver/cuda/matrices.hpp"
#include "libraries/solver/cuda/workroom.hpp"

#include <troupe/base/result.hpp>
#include <troupe/solver/svd.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Singular values of a batch of matrices in workspace: a = left · diag(s) · rightᴴ. Of a wide
/// matrix the adjoint is decomposed, because routines take no wide ones.
class decomposition {
 public:
  struct wanted {
    solver::svd_driver driver = solver::svd_driver::automatic;
    solver::singular_vectors vectors = solver::singular_vectors::thin;
  };

  /// Adds what it needs. Neither extent is 0. `like`: any address of device memory.
  [[nodiscard]] static result<decomposition> make(const cusolver_lane& solver, const wanted& what,
                                                  dtype type, std::int64_t m, std::int64_t n,
                                                  std::int64_t count, const void* like,
                                                  workroom& room);
  void place_in(std::byte* base) noexcept;

  /// Enqueues copying `a` there, infinities and NaNs set aside: see `set_aside_not_finite`.
  [[nodiscard]] result<void> load(const any_tensor& a, std::uint32_t* flags, lane& where) const;
  /// May wait for the lane.
  [[nodiscard]] result<void> run(const workroom& room, std::int32_t* info, lane& where) const;

  [[nodiscard]] std::byte* s() const noexcept { return s_; }
  [[nodiscard]] std::int64_t values() const noexcept { return values_; }
  /// Vectors in columns, of which there may be more than values. Not there without vectors.
  [[nodiscard]] const matrices& left() const noexcept { return wide_ ? second_ : first_; }
  [[nodiscard]] const matrices& right() const noexcept { return wide_ ? first_ : second_; }
  /// The matrices that are decomposed, tall, whose content is lost.
  [[nodiscard]] const matrices& tall() const noexcept { return a_; }
  [[nodiscard]] bool wide() const noexcept { return wide_; }

 private:
  enum class method : std::uint8_t { qr, jacobi, jacobi_at_once };

  explicit decomposition(const cusolver_lane& solver) noexcept : solver_(solver) {}
  [[nodiscard]] method choose(const wanted& what) const noexcept;
  [[nodiscard]] result<routine_bytes> bytes(const void* like) const;
  [[nodiscard]] result<void> run_one(const workroom& room, std::int64_t b,
                                     std::int32_t* info) const;
  [[nodiscard]] result<void> run_all(const workroom& room, std::int32_t* info) const;
  [[nodiscard]] bool has_vectors() const noexcept {
    return vectors_ != solver::singular_vectors::none;
  }
  [[nodiscard]] bool writes_vectors() const noexcept {
    return has_vectors() || (method_ == method::jacobi_at_once &&
                             !limits::cusolver::accepts_batches_without_vectors());
  }
  [[nodiscard]] bool full() const noexcept { return vectors_ == solver::singular_vectors::full; }

  const cusolver_lane& solver_;
  solver::singular_vectors vectors_ = solver::singular_vectors::none;
  method method_ = method::jacobi;
  bool wide_ = false;
  std::int64_t values_ = 0;
  matrices a_;
  matrices first_;   // of the tall matrix
  matrices second_;  // of the tall matrix; xGESVD writes its adjoint, which is turned afterwards
  matrices turned_;
  std::byte* s_ = nullptr;
  std::byte* scales_ = nullptr;
  std::size_t a_at_ = 0;
  std::size_t first_at_ = 0;
  std::size_t second_at_ = 0;
  std::size_t turned_at_ = 0;
  std::size_t s_at_ = 0;
  std::size_t scales_at_ = 0;
};

}  // namespace troupe::cuda
