#include "libraries/elementwise/shared/indexing.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace troupe::cpu {
namespace {

using elementwise::row_change;
using elementwise::row_operands;
using elementwise::sum_type;

std::optional<error> out_of_range(const row_operands& r) {
  for (std::int64_t k = 0; k < r.count(); ++k) {
    if (r.is_row(r.index(k))) continue;
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("index number {} is {}, not within 0 and {}", k, r.index(k),
                                        r.rows - 1)};
  }
  return std::nullopt;
}

result<void> run_gather(const elementwise::gather_rows& q, lane_context&) {
  const row_operands r = row_operands::of(q.y, q.indices, q.table);
  if (auto wrong = out_of_range(r)) return *std::move(wrong);
  const auto bytes = static_cast<std::size_t>(size_of(q.table.type()));
  const auto step = static_cast<std::int64_t>(bytes);
  const bool whole_rows = r.list_step == 1 && r.table_step == 1;
  for (std::int64_t k = 0; k < r.count(); ++k) {
    const std::byte* from = r.of_table<std::byte>(0) + r.index(k) * r.table_row * step;
    std::byte* to = r.of_list<std::byte>(0) + r.list.offset(k) * step;
    if (whole_rows) {
      std::memcpy(to, from, bytes * static_cast<std::size_t>(r.width));
      continue;
    }
    for (std::int64_t j = 0; j < r.width; ++j)
      std::memcpy(to + j * r.list_step * step, from + j * r.table_step * step, bytes);
  }
  return {};
}

// Rows of the list that point to one row of the table are added one after the other, in order.
template <class T>
void change_row(const row_operands& r, row_change how, std::int64_t row,
                std::span<const std::int64_t> from) {
  T* const to = r.of_table<T>(row);
  for (std::int64_t j = 0; j < r.width; ++j) {
    T& element = to[j * r.table_step];
    const auto listed = [&](std::int64_t k) { return r.of_list<T>(k)[j * r.list_step]; };
    if (how == row_change::set) {
      element = listed(from.back());
      continue;
    }
    auto sum = how == row_change::add ? elementwise::widened(element) : sum_type<T>{};
    for (const std::int64_t k : from)
      sum += elementwise::widened(listed(k));
    element = elementwise::narrowed_sum<T>(sum);
  }
}

result<void> change_rows(dtype type, const row_operands& r, row_change how) {
  if (auto wrong = out_of_range(r)) return *std::move(wrong);
  std::vector<std::int64_t> order(static_cast<std::size_t>(r.count()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t k) { return r.index(k); });
  elementwise::for_summed_type(type, [&]<class T>(T) {
    if (how == row_change::sum) {
      for (std::int64_t row = 0; row < r.rows; ++row) {
        for (std::int64_t j = 0; j < r.width; ++j)
          r.of_table<T>(row)[j * r.table_step] = T{};
      }
    }
    for (auto first = order.begin(); first != order.end();) {
      const std::int64_t row = r.index(*first);
      const auto last =
          std::find_if(first, order.end(), [&](std::int64_t k) { return r.index(k) != row; });
      change_row<T>(r, how, row, {first, last});
      first = last;
    }
  });
  return {};
}

result<void> run_gradient(const elementwise::gather_rows_backward& q, lane_context&) {
  return change_rows(q.dy.type(), row_operands::of(q.dy, q.indices, q.dtable), row_change::sum);
}
result<void> run_scatter(const elementwise::scatter_rows& q, lane_context&) {
  return change_rows(q.x.type(), row_operands::of(q.x, q.indices, q.table),
                     q.mode == elementwise::scatter_mode::set ? row_change::set : row_change::add);
}

result<void> run_cumulate(const elementwise::cumulate& q, lane_context&) {
  if (q.x.empty()) return {};
  const auto rows = elementwise::cumulation_rows::of(q);
  elementwise::for_cumulated_type(q.x.type(), [&]<class T>(T) {
    for (std::int64_t row = 0; row < rows.from.count; ++row) {
      const T* const from = q.x.data<T>() + rows.from.offset(row);
      T* const to = q.y.data<T>() + rows.to.offset(row);
      auto sum = rows.identity<sum_type<T>>();
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t at = rows.place(i);
        const auto next = rows.combined(sum, elementwise::widened(from[at * rows.from_step]));
        to[at * rows.to_step] = elementwise::narrowed_sum<T>(rows.exclusive ? sum : next);
        sum = next;
      }
    }
  });
  return {};
}

const plugin_operations indexing_operations([](operation_table& table) {
  table.add<elementwise::gather_rows>(run_gather, effort::by_size);
  table.add<elementwise::gather_rows_backward>(run_gradient, effort::by_size);
  table.add<elementwise::scatter_rows>(run_scatter, effort::by_size);
  table.add<elementwise::cumulate>(run_cumulate, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
