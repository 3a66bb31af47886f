// OpenBLAS looks its processor up in a list of models when it is loaded, and takes the kernels of
// one of 2004 (SSE3) for a model that is newer than the list: with Debian 12's 0.3.21 a product is
// six times slower on an Emerald Rapids than it could be (ADR 21). Before
// that it asks the environment, which would be the way to tell it, but a worker may be a thread of
// the user's program, whose environment is not ours to change. So the linker gives it this answer.

#include "libraries/blas/openblas/openblas_kernels.hpp"

#include "libraries/blas/openblas/openblas_memory.hpp"

#include <cstring>

namespace troupe::cpu {
namespace {

// As a power of two, in cycles of the time stamp counter: some 0.1 ms.
constexpr const char* spinning = "18";

}  // namespace

processor this_processor() noexcept {
  processor found;
#if defined(__x86_64__)
  __builtin_cpu_init();  // OpenBLAS calls this from a constructor, before any other initialisation
  found.is_amd = __builtin_cpu_is("amd") != 0;
  found.avx2_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  found.avx512 = __builtin_cpu_supports("avx512f") != 0 &&
                 __builtin_cpu_supports("avx512cd") != 0 &&
                 __builtin_cpu_supports("avx512bw") != 0 &&
                 __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#endif
  return found;
}

const char* openblas_kernels_for(const processor& p) noexcept {
  if (p.avx512) return "SkylakeX";
  if (p.avx2_fma) return p.is_amd ? "Zen" : "Haswell";
  return nullptr;
}

}  // namespace troupe::cpu

// The linker defines the names (--wrap=getenv): code linked with this calls the first for `getenv`,
// and the second is `getenv`.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" char* __real_getenv(const char* name);
extern "C" char* __wrap_getenv(const char* name);

char* __wrap_getenv(const char* name) {
  char* const text = __real_getenv(name);
  if (std::strcmp(name, "OPENBLAS_NUM_THREADS") == 0) {
    return const_cast<char*>(troupe::cpu::openblas_thread_setting(text));
  }
  // After a product its threads spin for 2^26 cycles, some 28 ms, in which the next request's
  // threads have as many processors less.
  if (text == nullptr && std::strcmp(name, "OPENBLAS_THREAD_TIMEOUT") == 0)
    return const_cast<char*>(troupe::cpu::spinning);
  if (text != nullptr || std::strcmp(name, "OPENBLAS_CORETYPE") != 0) return text;
  // The result of `getenv` is never written, whatever its type says.
  return const_cast<char*>(troupe::cpu::openblas_kernels_for(troupe::cpu::this_processor()));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
