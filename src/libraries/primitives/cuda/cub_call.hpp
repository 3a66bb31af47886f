#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// CUB's algorithms are called twice: without memory they say how much they need.
namespace troupe::cuda {

/// How much temporary memory `call(memory, bytes)` needs.
template <class Call>
[[nodiscard]] result<std::size_t> temporary_bytes(std::string_view name, Call call) {
  std::size_t bytes = 0;
  TRY(check(call(nullptr, bytes), name));
  return bytes;
}

}  // namespace troupe::cuda
