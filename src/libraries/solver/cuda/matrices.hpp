#pragma once

#include "backend/cuda/context/call_frame.hpp"

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// A batch of matrices in device memory in cuSOLVER's layout: column-major, `step` elements apart.
struct matrices {
  std::byte* first = nullptr;
  dtype type = dtype::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 1;
  std::int64_t ld = 1;
  std::int64_t step = 0;
  /// True if memory holds the transposes of row-major matrices. Extents are those in memory.
  bool transposed = false;

  template <class T = void>
  [[nodiscard]] T* at(std::int64_t matrix) const noexcept {
    return reinterpret_cast<T*>(first + matrix * step * size_of(type));
  }
  [[nodiscard]] std::int64_t elements() const noexcept { return rows * columns * count; }
};

/// The last two dimensions of a tensor are a matrix, all others its batch.
[[nodiscard]] std::int64_t rows_of(const any_tensor& t) noexcept;
[[nodiscard]] std::int64_t columns_of(const any_tensor& t) noexcept;
[[nodiscard]] std::int64_t batch_of(const any_tensor& t) noexcept;

/// Matrices without gaps.
[[nodiscard]] matrices packed(std::byte* at, dtype type, std::int64_t rows, std::int64_t columns,
                              std::int64_t count) noexcept;
[[nodiscard]] std::int64_t bytes_of(const matrices& m) noexcept;
/// The matrices as a tensor with the batch extents of `like`. Precondition: not `transposed`
[[nodiscard]] any_tensor as_tensor(const matrices& m, const any_tensor& like) noexcept;
/// The first columns or rows of each matrix.
[[nodiscard]] any_tensor first_columns(const any_tensor& t, std::int64_t columns) noexcept;
[[nodiscard]] any_tensor first_rows(const any_tensor& t, std::int64_t rows) noexcept;

/// Enqueues copying elements between views of the same extents and type.
[[nodiscard]] result<void> copy(const any_tensor& from, const any_tensor& to, lane& where);

/// Packed matrices in the workspace of a frame.
class frame_matrices final : call_frame::step {
 public:
  /// If `there` is false, the matrices have extents but no memory.
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

/// A tensor's matrices in a layout that routines accept: in place, or in a packed copy.
class staged final : call_frame::step {
 public:
  enum class place : std::uint8_t {
    columns,  ///< in place if they are column-major
    either,   ///< in place also if they are row-major, as transposes
    copy,     ///< never in place
  };
  struct uses {
    const any_tensor* reads = nullptr;  ///< same extents; copied into the matrices at the beginning
    bool writes = false;                ///< copied back at the end
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
