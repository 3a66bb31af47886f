#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// CUB's algorithms are called twice: the first call, without memory, returns the size that it
/// needs.
namespace troupe::cuda {

/// The temporary memory that `call(memory, bytes)` needs.
template <class Call>
[[nodiscard]] result<std::size_t> temporary_bytes(std::string_view name, Call call) {
  std::size_t bytes = 0;
  TRY(check(call(nullptr, bytes), name));
  return bytes;
}

}  // namespace troupe::cuda
