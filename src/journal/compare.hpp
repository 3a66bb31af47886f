#pragma once

#include <troupe/request/any_request.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace troupe::journal {

/// How close two values must be.
struct closeness {
  bool exact = true;
  std::optional<double> tolerance{};  ///< relative to the largest of the tensor; empty: by type
};

struct element_difference {
  std::int64_t element = 0;  ///< in row-major order
  std::string recorded{};
  std::string replayed{};
};

/// The first element of a view that differs. Both spans hold the view's bytes, from the first that
/// it reaches to the last.
[[nodiscard]] std::optional<element_difference> first_difference(
    const any_tensor& view, std::span<const std::byte> recorded,
    std::span<const std::byte> replayed, const closeness& how);

/// Compares the bytes of two replies of a request, as a journal has them.
[[nodiscard]] std::optional<element_difference> reply_difference(
    const request_type& type, std::span<const std::byte> recorded,
    std::span<const std::byte> replayed, const closeness& how);

}  // namespace troupe::journal
