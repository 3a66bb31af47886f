#include "os/stack.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace troupe::os {
namespace {

/// Grows down, from `end` to `begin`. Both 0 if unknown.
struct extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

extent find_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  std::size_t bytes = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  return {at, at + bytes};
}

}  // namespace

bool half_of_stack_is_used() noexcept {
  static thread_local const extent stack = find_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here >= stack.begin && here - stack.begin < (stack.end - stack.begin) / 2;
}

}  // namespace troupe::os
