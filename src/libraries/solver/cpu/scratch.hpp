#pragma once

#include "libraries/blas/cpu/routines.hpp"
#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/matrices.hpp"

#include <troupe/plugin/executor.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// A part of the lane's workspace.
template <class T>
struct piece {
  std::size_t offset = 0;
};

/// The workspace of one executor: its pieces are counted first, then taken together.
class scratch {
 public:
  template <class T>
  [[nodiscard]] piece<T> add(std::int64_t count) {
    const piece<T> one{bytes_};
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return one;
  }
  [[nodiscard]] result<void> take(lane_context& lane) {
    auto memory = lane.workspace(bytes_);
    if (!memory) return std::move(memory).error();
    first_ = memory->data();
    return {};
  }
  template <class T>
  [[nodiscard]] T* operator[](piece<T> one) const {
    return reinterpret_cast<T*>(first_ + one.offset);
  }

 private:
  std::size_t bytes_ = 0;
  std::byte* first_ = nullptr;
};

/// LAPACK's place for a matrix of an operand: its memory if that is column-major, otherwise
/// scratch.
template <class T>
class column_major_place {
 public:
  column_major_place(scratch& memory, const matrix_view<T>& like)
      : packed_(like.ld() == 0), piece_(memory.add<T>(packed_ ? like.rows * like.columns : 0)) {}

  /// The matrix to work on, for `own`, which lies as the first one did.
  [[nodiscard]] matrix_view<T> of(const scratch& memory, const matrix_view<T>& own) const {
    if (packed_) return column_major(memory[piece_], own.rows, own.columns);
    matrix_view<T> taken = own;
    taken.row_stride = 1;
    taken.column_stride = own.ld();
    return taken;
  }
  /// The same, with `own`'s content.
  [[nodiscard]] matrix_view<T> filled(const scratch& memory, const matrix_view<T>& own) const {
    const matrix_view<T> taken = of(memory, own);
    if (packed_) copy_matrix(own, taken);
    return taken;
  }
  [[nodiscard]] bool is_packed() const { return packed_; }

 private:
  bool packed_;
  piece<T> piece_;
};

/// A triangle of a row-major matrix is worked on as the other one of the transposed matrix, whose
/// factor and inverse are the transposed ones.
template <class T>
struct oriented {
  blas::uplo uplo;
  matrix_view<T> from;
  matrix_view<T> to;

  oriented(blas::uplo u, const matrix_view<T>& in, const matrix_view<T>& out)
      : uplo(u), from(in), to(out) {
    if (out.ld() != 0 || out.transposed().ld() == 0) return;
    uplo = other(u);
    from = in.transposed();
    to = out.transposed();
  }
};

/// Calls `f` with a value of the C++ type of `type`, and answers the result.
template <class F>
[[nodiscard]] result<void> with_classic_type(dtype type, F f) {
  result<void> done;
  for_classic_type(type, [&]<class T>(T value) { done = f(value); });
  return done;
}

/// Copies `from` to `to` unless both are the same memory.
template <class T>
void copy_unless_same(const matrix_view<T>& from, const matrix_view<T>& to) {
  if (from.at != to.at) copy_matrix(from, to);
}

}  // namespace troupe::cpu
