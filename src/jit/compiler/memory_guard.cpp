#include "jit/compiler/memory_guard.hpp"

#include "jit/client/job.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace troupe::jit {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool watched = true;
#elif defined(__has_feature)
constexpr bool watched = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool watched = false;
#endif

// Set once, before there is another thread.
std::size_t enough = 0;

extern "C" void end_for(int signal) {
  if (memory_is_short()) ::_exit(out_of_memory_status);
  // The handler is one-shot: this signal ends the process.
  ::raise(signal);
}

}  // namespace

bool memory_is_short() noexcept {
  if (enough == 0) return false;
  // Uses only calls that are safe in signal handlers.
  void* const more = ::mmap(nullptr, enough, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (more == MAP_FAILED) return true;
  ::munmap(more, enough);
  return false;
}

void guard_memory(std::uint64_t bytes) noexcept {
  if (watched || bytes == 0) return;
  const rlimit most{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &most) != 0) return;
  // Compilers allocate memory in pieces that grow with their total.
  enough = static_cast<std::size_t>(bytes / 8);
  // A compiler that recurses too deep overruns the stack: the handler needs its own.
  static char stack_memory[64 * 1024];
  const stack_t stack{.ss_sp = stack_memory, .ss_flags = 0, .ss_size = sizeof(stack_memory)};
  ::sigaltstack(&stack, nullptr);
  struct sigaction act{};
  act.sa_handler = &end_for;
  act.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS})
    ::sigaction(signal, &act, nullptr);
}

}  // namespace troupe::jit
