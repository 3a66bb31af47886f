#include "os/fork_count.hpp"

#include <pthread.h>

namespace troupe::os {

constinit std::atomic<std::uint32_t> detail::forks{0};

namespace {

// Runs in the new process, before `fork` returns. If there is no memory to register it, forks go
// unnoticed, and a copy is not protected.
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++detail::forks; });

}  // namespace
}  // namespace troupe::os
