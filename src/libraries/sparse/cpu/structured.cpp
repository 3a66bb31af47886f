#include "libraries/blaslt/cpu/matmul.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"
#include "libraries/sparse/shared/structured_groups.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <cstring>
#include <string>

namespace troupe::cpu {
namespace {

using sparse::structured_stamp;

/// Calls `f(row, column, group)` for each group of weights, row by row, until it answers false.
template <class Bits, class F>
void for_each_group(const any_tensor& x, F f) {
  const auto* const first = reinterpret_cast<const Bits*>(x.address());
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t l = 0; l < x.extent(1); l += sparse::structured_group) {
      sparse::weight_group<Bits> group;
      for (std::int64_t q = 0; q < sparse::structured_group; ++q)
        group.elements[q] = first[i * x.stride(0) + (l + q) * x.stride(1)];
      if (!f(i, l, group)) return;
    }
  }
}

template <class F>
auto with_bits(dtype type, F f) {
  return size_of(type) == 1 ? f(std::uint8_t{}) : f(std::uint16_t{});
}

result<void> check_groups(const any_tensor& x) {
  result<void> verdict;
  with_bits(x.type(), [&]<class Bits>(Bits) {
    for_each_group<Bits>(x, [&](std::int64_t row, std::int64_t column, const auto& group) {
      const int filled = group.filled(x.type() == dtype::i8);
      if (filled <= 2) return true;
      verdict = error{.code = errc::invalid_argument,
                      .message = "weights [" + std::to_string(row) + ", " + std::to_string(column) +
                                 " to " + std::to_string(column + 3) +
                                 "]: " + std::to_string(filled) + " are not zero, 2 of 4 may be"};
      return false;
    });
  });
  return verdict;
}

result<void> run_prune(const sparse::structured_prune& r, lane_context&) {
  with_bits(r.x.type(), [&]<class Bits>(Bits) {
    auto* const to = reinterpret_cast<Bits*>(r.y.address());
    for_each_group<Bits>(r.x, [&](std::int64_t row, std::int64_t column, auto group) {
      group.prune(r.x.type() == dtype::i8);
      for (std::int64_t q = 0; q < sparse::structured_group; ++q)
        to[row * r.y.stride(0) + (column + q) * r.y.stride(1)] = group.elements[q];
      return true;
    });
  });
  return {};
}

result<void> run_check(const sparse::structured_check& r, lane_context&) {
  return check_groups(r.x);
}

// Products read the weights themselves: there is no faster form of them here.
result<void> run_compress(const sparse::structured_compress& r, lane_context&) {
  std::memset(r.compressed.address(), 0, static_cast<std::size_t>(r.compressed.count()));
  if (auto good = check_groups(r.x); !good) return good;
  const structured_stamp stamp(r.x, 0);
  std::memcpy(r.compressed.address(), &stamp, sizeof stamp);
  return {};
}

result<void> run_matmul_2_4(const sparse::structured_matmul& r, lane_context& lane) {
  const any_tensor weights = r.b.transpose();
  if (r.compressed.null()) {
    if (auto good = check_groups(weights); !good) return good;
  } else {
    structured_stamp found;
    std::memcpy(&found, r.compressed.address(), sizeof found);
    // The maker does not matter, because the content is not read here.
    if (found != structured_stamp(weights, found.maker)) {
      return error{.code = errc::invalid_argument, .message = std::string(sparse::not_of_weights)};
    }
  }
  return run_matmul(sparse::as_dense(r), lane);
}

const plugin_operations structured_operations([](operation_table& table) {
  table.add<sparse::structured_prune>(run_prune);
  table.add<sparse::structured_check>(run_check);
  table.add<sparse::structured_compress>(run_compress);
  table.add<sparse::structured_matmul>(run_matmul_2_4);
});

}  // namespace
}  // namespace troupe::cpu
