#pragma once

#include <troupe/base/result.hpp>

namespace troupe::cuda {

/// Makes calls one after another, up to the first that fails.
[[nodiscard]] inline result<void> in_order() { return {}; }
template <class First, class... Rest>
[[nodiscard]] result<void> in_order(const First& first, const Rest&... rest) {
  if (auto done = first(); !done) return done;
  return in_order(rest...);
}

}  // namespace troupe::cuda
