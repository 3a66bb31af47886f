#pragma once

#include "libraries/solver/cuda/cusolver.hpp"
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
    std::int64_t values = 0;  ///< of the approximate driver; else all
  };

  /// Adds what it needs. Neither extent is 0. `like`: any address of device memory.
  [[nodiscard]] static result<decomposition> make(const cusolver_lane& solver, const wanted& what,
                                                  dtype type, std::int64_t m, std::int64_t n,
                                                  std::int64_t count, const void* like,
                                                  workroom& room);
  void place_in(std::byte* base) noexcept;

  /// Enqueues copying `a` there, infinities and NaNs set aside: see `set_aside_not_finite`. `a`
  /// and the flags outlive `run`.
  [[nodiscard]] result<void> load(const any_tensor& a, std::uint32_t* flags, lane& where);
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
  enum class method : std::uint8_t { qr, jacobi, jacobi_at_once, polar, approximate };

  explicit decomposition(const cusolver_lane& solver) noexcept : solver_(solver) {}
  [[nodiscard]] method choose(const wanted& what) const noexcept;
  [[nodiscard]] result<routine_bytes> bytes(method by, const void* like) const;
  [[nodiscard]] result<void> load_again(lane& where) const;
  [[nodiscard]] result<void> run_one(method by, const workroom& room, std::int64_t b,
                                     std::int32_t* info, double* perturbation) const;
  [[nodiscard]] result<void> run_exactly(const workroom& room, std::int32_t* info,
                                         lane& where) const;
  [[nodiscard]] result<bool> is_exact(std::int64_t b, double perturbation, lane& where) const;
  [[nodiscard]] result<void> run_all(const workroom& room, std::int32_t* info) const;
  [[nodiscard]] bool has_vectors() const noexcept {
    return vectors_ != solver::singular_vectors::none;
  }
  [[nodiscard]] bool full() const noexcept { return vectors_ == solver::singular_vectors::full; }

  const cusolver_lane& solver_;
  solver::singular_vectors vectors_ = solver::singular_vectors::none;
  method method_ = method::jacobi;
  bool must_be_exact_ = false;  // what a polar decomposition has perturbed is done again by Jacobi
  bool wide_ = false;
  std::int64_t values_ = 0;
  matrices a_;
  matrices first_;   // of the tall matrix
  matrices second_;  // of the tall matrix; xGESVD writes its adjoint, which is turned afterwards
  matrices turned_;
  any_tensor source_;
  std::uint32_t* flags_ = nullptr;
  std::byte* s_ = nullptr;
  std::size_t a_at_ = 0;
  std::size_t first_at_ = 0;
  std::size_t second_at_ = 0;
  std::size_t turned_at_ = 0;
  std::size_t s_at_ = 0;
};

}  // namespace troupe::cuda
