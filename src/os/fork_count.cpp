#include "os/fork_count.hpp"

#include <pthread.h>

namespace troupe::os {

constinit std::atomic<std::uint32_t> detail::forks{0};

namespace {

// In the new process, before `fork` returns. Where there is no memory to register it, forks are not
// seen, and a copy does what it likes.
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++detail::forks; });

}  // namespace
}  // namespace troupe::os
