#pragma once

#include "backend/cuda/context/call_frame.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// A batch of matrices as routines of cuSOLVER find it in device memory: column-major, one matrix
/// `step` elements after the other.
struct matrices {
  std::byte* first = nullptr;
  dtype type = dtype::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;
  std::int64_t ld = 1;
  std::int64_t step = 0;
  /// What lies there are the transposes of the matrices that are meant, which are row-major;
  /// extents are of what lies there.
  bool transposed = false;

  template <class T = void>
  [[nodiscard]] T* at(std::int64_t matrix) const noexcept {
    return reinterpret_cast<T*>(first + matrix * step * size_of(type));
  }
  [[nodiscard]] std::int64_t elements() const noexcept { return rows * columns * count; }
};

/// The matrices in the last two dimensions of a tensor, all others being a batch.
[[nodiscard]] std::int64_t rows_of(const any_tensor& t) noexcept;
[[nodiscard]] std::int64_t columns_of(const any_tensor& t) noexcept;
[[nodiscard]] std::int64_t batch_of(const any_tensor& t) noexcept;

/// Matrices without gaps.
[[nodiscard]] matrices packed(std::byte* at, dtype type, std::int64_t rows, std::int64_t columns,
                              std::int64_t count) noexcept;
[[nodiscard]] std::int64_t bytes_of(const matrices& m) noexcept;
/// Them as a tensor with the batch extents of `like`. Precondition: not `transposed`
[[nodiscard]] any_tensor as_tensor(const matrices& m, const any_tensor& like) noexcept;
/// The first columns or rows of each matrix.
[[nodiscard]] any_tensor first_columns(const any_tensor& t, std::int64_t columns) noexcept;
[[nodiscard]] any_tensor first_rows(const any_tensor& t, std::int64_t rows) noexcept;

/// Enqueues copying elements between views of the same extents and type.
[[nodiscard]] result<void> copy(const any_tensor& from, const any_tensor& to, lane& where);

/// Packed matrices in the workspace of a frame.
class frame_matrices final : call_frame::step {
 public:
  /// With `there` false they have no memory, only extents.
  frame_matrices(call_frame& c, dtype type, std::int64_t rows, std::int64_t columns,
                 std::int64_t count, bool there = true)
      : step(c),
        matrices_(packed(nullptr, type, rows, columns, count)),
        memory_(c.bytes(there ? bytes_of(matrices_) : 0)) {}

  [[nodiscard]] const matrices& operator*() const noexcept { return matrices_; }
  [[nodiscard]] const matrices* operator->() const noexcept { return &matrices_; }

 private:
  result<void> before(lane&) override {
    matrices_.first = memory_;
    return {};
  }

  matrices matrices_;
  frame_array<std::byte> memory_;
};

/// A tensor's matrices where routines can work on them: where they are, or in a packed copy.
class staged final : call_frame::step {
 public:
  enum class place : std::uint8_t {
    columns,  ///< where they are, if they are column-major
    either,   ///< row-major ones, too, as their transposes
    copy,     ///< never where they are
  };
  struct uses {
    const any_tensor* reads = nullptr;  ///< of the same extents; copied there at the beginning
    bool writes = false;                ///< brought home at the end
  };

  staged(call_frame& c, const any_tensor& home, place where, const uses& how);

  [[nodiscard]] const matrices& operator*() const noexcept { return matrices_; }
  [[nodiscard]] const matrices* operator->() const noexcept { return &matrices_; }
  [[nodiscard]] bool moved() const noexcept { return moved_; }

 private:
  result<void> before(lane& where) override;
  result<void> after(lane& where) override;

  const any_tensor& home_;
  uses how_;
  matrices matrices_;
  frame_array<std::byte> copy_;
  bool moved_ = true;
};

}  // namespace troupe::cuda
