#pragma once

#include "libraries/memory/shared/flat_view.hpp"

#include <troupe/elementwise/indexing.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// Walks rows by numbers, and running sums, on CPU and GPU. All of it is constexpr, so that kernels
/// run the same code.
namespace troupe::elementwise {

/// The type of sums of `T`, if nothing wider is free.
template <class T>
using sum_type = std::conditional_t<std::same_as<T, double>, double,
                                    std::conditional_t<std::integral<T>, std::uint64_t, float>>;

/// Operands of a request on rows: a list of rows, and the table that their indices point into.
struct row_operands {
  flat_view indices;
  const void* index_address = nullptr;
  bool long_indices = false;  ///< i64
  flat_view list;             ///< all but the last dimension
  void* list_address = nullptr;
  std::int64_t list_step = 0;  ///< along the last
  void* table_address = nullptr;
  std::int64_t table_row = 0;
  std::int64_t table_step = 0;
  std::int64_t rows = 0;   ///< the table's
  std::int64_t width = 0;  ///< a row's

  [[nodiscard]] static row_operands of(const any_tensor& list, const any_tensor& indices,
                                       const any_tensor& table) noexcept {
    const int last = list.rank() - 1;
    return {.indices = flat_view::all_but(indices, -1),
            .index_address = indices.address(),
            .long_indices = indices.type() == dtype::i64,
            .list = flat_view::all_but(list, last),
            .list_address = list.address(),
            .list_step = list.stride(last),
            .table_address = table.address(),
            .table_row = table.stride(0),
            .table_step = table.stride(1),
            .rows = table.extent(0),
            .width = table.extent(1)};
  }

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return indices.count; }
  [[nodiscard]] constexpr std::int64_t index(std::int64_t k) const noexcept {
    const std::int64_t at = indices.offset(k);
    return long_indices ? static_cast<const std::int64_t*>(index_address)[at]
                        : static_cast<const std::int32_t*>(index_address)[at];
  }
  [[nodiscard]] constexpr bool is_row(std::int64_t index) const noexcept {
    return index >= 0 && index < rows;
  }
  /// Row `k` of the list; elements are `list_step` apart.
  template <class T>
  [[nodiscard]] constexpr T* of_list(std::int64_t k) const noexcept {
    return static_cast<T*>(list_address) + list.offset(k);
  }
  template <class T>
  [[nodiscard]] constexpr T* of_table(std::int64_t row) const noexcept {
    return static_cast<T*>(table_address) + row * table_row;
  }
};

/// The change of a table's rows.
enum class row_change : std::uint8_t {
  sum,  ///< all are written: sums of the rows that point to them
  set,
  add,
};

template <class T>
[[nodiscard]] constexpr sum_type<T> widened(T x) noexcept {
  return static_cast<sum_type<T>>(x);
}
template <class T>
[[nodiscard]] constexpr T narrowed_sum(sum_type<T> x) noexcept {
  return static_cast<T>(x);
}

/// A row of a running sum or product, and how it is walked.
struct cumulation_rows {
  flat_view from;  ///< all dimensions but the axis
  flat_view to;
  std::int64_t from_step = 0;
  std::int64_t to_step = 0;
  std::int64_t length = 0;
  bool product = false;
  bool exclusive = false;
  bool reverse = false;

  [[nodiscard]] static cumulation_rows of(const cumulate& r) noexcept {
    const auto axis = static_cast<int>(r.axis < 0 ? r.axis + r.x.rank() : r.axis);
    return {.from = flat_view::all_but(r.x, axis),
            .to = flat_view::all_but(r.y, axis),
            .from_step = r.x.stride(axis),
            .to_step = r.y.stride(axis),
            .length = r.x.extent(axis),
            .product = r.how == cumulation::product,
            .exclusive = r.exclusive,
            .reverse = r.reverse};
  }
  /// The place of the element that is taken as number `i`.
  [[nodiscard]] constexpr std::int64_t place(std::int64_t i) const noexcept {
    return reverse ? length - 1 - i : i;
  }
  template <class Sum>
  [[nodiscard]] constexpr Sum combined(Sum a, Sum b) const noexcept {
    return product ? a * b : a + b;
  }
  template <class Sum>
  [[nodiscard]] constexpr Sum identity() const noexcept {
    return static_cast<Sum>(product ? 1 : 0);
  }
};

/// Calls `f` with a value of the type, one that rows are summed in.
template <class F>
auto for_summed_type(dtype type, F f) {
  switch (type) {
    case dtype::f64:
      return f(double{});
    case dtype::f16:
      return f(f16{});
    case dtype::bf16:
      return f(bf16{});
    default:
      return f(float{});
  }
}
/// The same, and of integers that may be summed up.
template <class F>
auto for_cumulated_type(dtype type, F f) {
  switch (type) {
    case dtype::i32:
      return f(std::int32_t{});
    case dtype::i64:
      return f(std::int64_t{});
    default:
      return for_summed_type(type, f);
  }
}

}  // namespace troupe::elementwise
