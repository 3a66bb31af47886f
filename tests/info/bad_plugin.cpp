// No good plugin: it hangs, or crashes, when it is loaded.

#include <unistd.h>

#include <cstdlib>

namespace {

[[maybe_unused]] const bool loaded = []() -> bool {
  if constexpr (HANGS) {
    for (;;)
      ::pause();
  }
  std::abort();
}();

}  // namespace
