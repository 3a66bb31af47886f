// OpenBLAS takes a buffer of addresses for each of its threads and for each running call. When no
// addresses are left it retries for ever: under a limit of addresses (`ulimit -v`) a product would
// never end, and the plugin never be loaded. So the linker puts these in front of three functions.
// A caller that would retry in vain gets an exception, as from any allocation; it passes through
// OpenBLAS before OpenBLAS has taken anything.

#include "libraries/blas/openblas/openblas_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

// The names are the linker's (--wrap).
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* __real_blas_memory_alloc(int place);
extern "C" void* __wrap_blas_memory_alloc(int place);
extern "C" void __real_blas_memory_free(void* buffer);
extern "C" void __wrap_blas_memory_free(void* buffer);
extern "C" void* __real_mmap(void* at, std::size_t bytes, int rights, int flags, int file,
                             off_t offset);
extern "C" void* __wrap_mmap(void* at, std::size_t bytes, int rights, int flags, int file,
                             off_t offset);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace troupe::cpu {
namespace {

// Source: OpenBLAS, BUFFER_SIZE of common_x86_64.h, which is the largest.
constexpr std::size_t largest_buffer_bytes = std::size_t{128} << 20;
// The other memory of a thread.
constexpr std::size_t stack_bytes = std::size_t{8} << 20;

class no_addresses final : public std::bad_alloc {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "there are no addresses left for a buffer of OpenBLAS; RLIMIT_AS (ulimit -v) limits "
           "them";
  }
};

// How many buffers OpenBLAS has taken from the system, of this size each, and how many are in use.
// It returns none, and takes another one only if all are in use. Relaxed: they are only counted,
// and a thread that sees an old count asks the system once more.
std::atomic<int> buffers_taken{0};
std::atomic<int> buffers_used{0};
std::atomic<std::size_t> buffer_bytes{largest_buffer_bytes};
thread_local bool takes_one = false;

bool has_room_for_one_more() noexcept {
  const std::size_t bytes = buffer_bytes.load(std::memory_order_relaxed);
  void* const at =
      __real_mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  ::munmap(at, bytes);
  return true;
}

std::optional<std::uint64_t> address_room() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  unsigned long pages = 0;
  if (std::FILE* const sizes = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(sizes, "%lu", &pages) != 1) pages = 0;
    (void)std::fclose(sizes);
  }
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::uint64_t>(used, limit.rlim_cur);
}

int number_in(const char* text) noexcept {
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

int openblas_threads_within(std::optional<std::uint64_t> addresses, int wanted) noexcept {
  if (!addresses) return wanted;
  // Half is left to calls, and to everybody else.
  const std::uint64_t fit = *addresses / 2 / (largest_buffer_bytes + stack_bytes);
  return static_cast<int>(
      std::clamp<std::uint64_t>(fit, 1, static_cast<std::uint64_t>(std::max(wanted, 1))));
}

const char* openblas_thread_setting(const char* environment) noexcept {
  const auto addresses = address_room();
  if (!addresses) return environment;
  // NOLINTBEGIN(concurrency-mt-unsafe): OpenBLAS does so in the same moment
  int wanted = number_in(environment);
  if (wanted <= 0) wanted = number_in(std::getenv("GOTO_NUM_THREADS"));
  if (wanted <= 0) wanted = number_in(std::getenv("OMP_NUM_THREADS"));
  // NOLINTEND(concurrency-mt-unsafe)
  if (wanted <= 0) wanted = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  static char text[16];  // asked for once, when OpenBLAS is loaded
  *std::to_chars(text, text + sizeof(text) - 1, openblas_threads_within(addresses, wanted)).ptr =
      '\0';
  return text;
}

}  // namespace troupe::cpu

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __wrap_blas_memory_alloc(int place) {
  using namespace troupe::cpu;
  const int used = buffers_used.fetch_add(1, std::memory_order_relaxed) + 1;
  if (used <= buffers_taken.load(std::memory_order_relaxed)) return __real_blas_memory_alloc(place);
  if (!has_room_for_one_more()) {
    buffers_used.fetch_sub(1, std::memory_order_relaxed);
    throw no_addresses();
  }
  takes_one = true;
  void* const buffer = __real_blas_memory_alloc(place);
  takes_one = false;
  return buffer;
}

void __wrap_blas_memory_free(void* buffer) {
  __real_blas_memory_free(buffer);
  troupe::cpu::buffers_used.fetch_sub(1, std::memory_order_relaxed);
}

void* __wrap_mmap(void* at, std::size_t bytes, int rights, int flags, int file, off_t offset) {
  void* const mapped = __real_mmap(at, bytes, rights, flags, file, offset);
  if (mapped != MAP_FAILED && troupe::cpu::takes_one) {
    troupe::cpu::buffer_bytes.store(bytes, std::memory_order_relaxed);
    troupe::cpu::buffers_taken.fetch_add(1, std::memory_order_relaxed);
  }
  return mapped;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
