#include "libraries/solver/cuda/matrices.hpp"

#include "libraries/memory/cuda/kernels.hpp"
#include "request/matrix_layout.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

namespace troupe::cuda {
namespace {

// Some routines have 32-bit sizes.
constexpr std::int64_t largest_ld = std::numeric_limits<std::int32_t>::max();

/// The distance between neighbouring matrices; nothing if it is not constant.
std::optional<std::int64_t> batch_step(const any_tensor& t) noexcept {
  std::optional<std::int64_t> step;
  std::int64_t next = 0;
  for (int d = t.rank() - 3; d >= 0; --d) {
    if (t.extent(d) == 1) continue;
    if (!step) {
      step = t.stride(d);
    } else if (t.stride(d) != next) {
      return std::nullopt;
    }
    next = t.stride(d) * t.extent(d);
  }
  return step.value_or(0);
}

std::optional<matrices> where_it_is(const any_tensor& t, blas::order order) noexcept {
  const std::int64_t ld = blas::leading_dimension(t, order);
  const auto step = batch_step(t);
  // Routines would be slow on host memory.
  if (ld == 0 || ld > largest_ld || !step || t.space() == memory_space::host) return std::nullopt;
  matrices m{.first = t.address(),
             .type = t.type(),
             .rows = rows_of(t),
             .columns = columns_of(t),
             .count = batch_of(t),
             .ld = ld,
             .step = *step};
  if (order == blas::order::row_major) {
    m.transposed = true;
    std::swap(m.rows, m.columns);
  }
  return m;
}

}  // namespace

std::int64_t rows_of(const any_tensor& t) noexcept { return t.extent(t.rank() - 2); }
std::int64_t columns_of(const any_tensor& t) noexcept { return t.extent(t.rank() - 1); }
std::int64_t batch_of(const any_tensor& t) noexcept {
  std::int64_t count = 1;
  for (int d = 0; d < t.rank() - 2; ++d)
    count *= t.extent(d);
  return count;
}

matrices packed(std::byte* at, dtype type, std::int64_t rows, std::int64_t columns,
                std::int64_t count) noexcept {
  return {.first = at,
          .type = type,
          .rows = rows,
          .columns = columns,
          .count = count,
          .ld = std::max<std::int64_t>(rows, 1),
          .step = rows * columns};
}

std::int64_t bytes_of(const matrices& m) noexcept { return m.elements() * size_of(m.type); }

any_tensor as_tensor(const matrices& m, const any_tensor& like) noexcept {
  const int rank = like.rank();
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  std::int64_t step = m.step;
  for (int d = rank - 3; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    extents[i] = like.extent(d);
    strides[i] = step;
    step *= extents[i];
  }
  const auto last = static_cast<std::size_t>(rank - 1);
  extents[last - 1] = m.rows;
  extents[last] = m.columns;
  strides[last - 1] = 1;
  strides[last] = m.ld;
  const auto used = static_cast<std::size_t>(rank);
  return any_tensor::unowned(m.first, m.type, shape(std::span(extents).first(used)),
                             std::span(strides).first(used));
}

namespace {

any_tensor shortened(const any_tensor& t, int dimension, std::int64_t extent) noexcept {
  std::array<std::int64_t, max_rank> extents{};
  std::ranges::copy(t.extents(), extents.begin());
  extents[static_cast<std::size_t>(dimension)] = extent;
  return any_tensor::unowned(t.address(), t.type(),
                             shape(std::span(extents).first(static_cast<std::size_t>(t.rank()))),
                             t.strides(), t.space());
}

}  // namespace

any_tensor first_columns(const any_tensor& t, std::int64_t columns) noexcept {
  return shortened(t, t.rank() - 1, columns);
}
any_tensor first_rows(const any_tensor& t, std::int64_t rows) noexcept {
  return shortened(t, t.rank() - 2, rows);
}

result<void> copy(const any_tensor& from, const any_tensor& to, lane& where) {
  elementwise::strided_loops loops(from, to);
  if (loops.empty) return {};
  const unit moved = choose_unit(loops, size_of(to.type()), from.address(), to.address());
  return enqueue_copy(strided_map(loops, true), moved, from.address(), to.address(),
                      where.stream());
}

staged::staged(call_frame& c, const any_tensor& home, place where, const uses& how)
    : step(c), home_(home), how_(how) {
  auto found = where == place::copy ? std::nullopt : where_it_is(home, blas::order::column_major);
  if (!found && where == place::either) found = where_it_is(home, blas::order::row_major);
  moved_ = !found;
  matrices_ = found.value_or(
      packed(nullptr, home.type(), rows_of(home), columns_of(home), cuda::batch_of(home)));
  if (moved_) copy_ = c.bytes(bytes_of(matrices_));
}

result<void> staged::before(lane& where) {
  if (moved_) matrices_.first = copy_;
  if (how_.reads == nullptr) return {};
  if (moved_) return copy(*how_.reads, as_tensor(matrices_, home_), where);
  return how_.reads->same_view(home_) ? result<void>() : copy(*how_.reads, home_, where);
}

result<void> staged::after(lane& where) {
  return moved_ && how_.writes ? copy(as_tensor(matrices_, home_), home_, where) : result<void>();
}

}  // namespace troupe::cuda
