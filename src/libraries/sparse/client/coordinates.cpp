#include "libraries/sparse/client/coordinates.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace troupe::sparse {
namespace {

/// A matrix of the program in csr, as a device takes it.
template <class T, class I>
struct compressed {
  std::vector<I> offsets;
  std::vector<I> indices;
  std::vector<T> values;

  explicit compressed(const coordinates& a)
      : offsets(static_cast<std::size_t>(a.rows) + 1),
        indices(a.values.size()),
        values(a.values.size()) {
    std::vector<std::size_t> order(a.values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // By numbers at last, so that duplicates keep their order.
    const auto place = [&](std::size_t k) {
      return std::tuple(a.row_indices[k], a.column_indices[k], k);
    };
    std::ranges::sort(order, {}, place);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t from = order[k];
      ++offsets[static_cast<std::size_t>(a.row_indices[from]) + 1];
      indices[k] = static_cast<I>(a.column_indices[from]);
      values[k] = scalar(a.values[from]).as<T>();
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  }
};

template <class T, class I>
result<sparse_matrix> copied(device& on, const coordinates& a) {
  const auto count = static_cast<std::int64_t>(a.values.size());
  auto offsets = on.tensor<I>({a.rows + 1});
  if (!offsets) return std::move(offsets).error();
  auto indices = on.tensor<I>({count});
  if (!indices) return std::move(indices).error();
  auto values = on.tensor<T>({count});
  if (!values) return std::move(values).error();
  const compressed<T, I> all(a);
  auto first = on.copy(std::span(all.offsets), *offsets);
  auto second = on.copy(std::span(all.indices), *indices);
  auto third = on.copy(std::span(all.values), *values);
  // All of them are waited for, whatever the first says: they read what ends with this call.
  auto done = first.get_result();
  auto done_too = second.get_result();
  auto done_last = third.get_result();
  for (result<void>* one : {&done, &done_too, &done_last}) {
    if (!*one) return std::move(*one).error();
  }
  return sparse_matrix::csr(a.columns, *offsets, *indices, *values);
}

template <class T>
result<sparse_matrix> with_values(device& on, const coordinates& a, dtype indices) {
  if (indices == dtype::i64) return copied<T, std::int64_t>(on, a);
  constexpr auto most = std::int64_t{std::numeric_limits<std::int32_t>::max()};
  if (a.rows > most || a.columns > most || std::cmp_greater(a.values.size(), most)) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("a matrix of [{}, {}] with {} elements needs indices of i64", a.rows,
                               a.columns, a.values.size())};
  }
  return copied<T, std::int32_t>(on, a);
}

}  // namespace

result<void> check(const coordinates& a) {
  const std::size_t count = a.values.size();
  if (a.row_indices.size() != count || a.column_indices.size() != count) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} rows and {} columns for {} values",
                                        a.row_indices.size(), a.column_indices.size(), count)};
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t i = a.row_indices[k];
    const std::int64_t j = a.column_indices[k];
    if (i >= 0 && i < a.rows && j >= 0 && j < a.columns) continue;
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("element {}, ({}, {}), is outside [{}, {}]", k, i, j,
                                        a.rows, a.columns)};
  }
  return {};
}

result<sparse_matrix> to_device(device& on, const coordinates& a, dtype values, dtype indices) {
  if (auto good = check(a); !good) return std::move(good).error();
  if (indices != dtype::i32 && indices != dtype::i64) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("indices are i32 or i64, not {}", to_string(indices))};
  }
  switch (values) {
    case dtype::f64:
      return with_values<double>(on, a, indices);
    case dtype::f32:
      return with_values<float>(on, a, indices);
    case dtype::f16:
      return with_values<f16>(on, a, indices);
    case dtype::bf16:
      return with_values<bf16>(on, a, indices);
    case dtype::c64:
      return with_values<std::complex<float>>(on, a, indices);
    case dtype::c128:
      return with_values<std::complex<double>>(on, a, indices);
    default:
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("no sparse matrix has values of {}", to_string(values))};
  }
}

}  // namespace troupe::sparse
