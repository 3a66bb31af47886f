// Workers that may take few addresses (RLIMIT_AS, `ulimit -v`).

#include "operations.hpp"
#include "under_sanitizers.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace troupe::test {
namespace {

constexpr rlim_t mib = 1 << 20;

[[noreturn]] void multiply_without_room() {
  ::alarm(60);
  // An eighth of it is the host memory that workers map.
  const rlimit limit{4096 * mib, 4096 * mib};
  ::setrlimit(RLIMIT_AS, &limit);
  // Enough for a worker of two threads, its replies and what the program keeps for it, 64 MiB each,
  // and not for a buffer of OpenBLAS's, of 128 MiB.
  ::setenv("TROUPE_TEST_ADDRESS_ROOM", std::to_string((512 + 64 + 64 + 171) * mib).c_str(), 1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  ::setenv("MALLOC_ARENA_MAX", "1", 1);  // each takes 64 MiB of addresses
  device_config config = with_operations();
  config.memory_limit_bytes = mib;
  config.lane_threads = 2;
  config.standby = false;
  troupe::system system({.threads = 2});
  device gpu = system.device(0, config);
  if (const auto up = gpu.wait_until_ready(); !up) {
    std::fputs(up.error().to_string().c_str(), stderr);
    ::_exit(1);
  }
  // Large enough for a buffer: small products need none where there is AVX-512.
  const auto a = gpu.tensor<float>({256, 256}, initial::zero).value();
  const auto c = gpu.tensor<float>({256, 256}).value();
  // More often than OpenBLAS has places for buffers.
  for (int i = 0; i < 200; ++i) {
    const auto outcome = gpu.ask(blas::gemm{.a = a, .b = a, .c = c}).get_result();
    if (outcome) ::_exit(2);
    if (outcome.error().code == errc::out_of_memory &&
        outcome.error().message.find("ulimit -v") != std::string::npos) {
      continue;
    }
    std::fputs(outcome.error().to_string().c_str(), stderr);
    ::_exit(3);
  }
  if (!gpu.ask(memory::fill{.to = a, .value = 1}).get_result()) ::_exit(4);
  ::_exit(gpu.generation() == 1 ? 0 : 5);
}

TEST(AddressSpace, ThatIsShortMakesAProductOutOfMemoryAndNothingElse) {
  if (under_sanitizers) GTEST_SKIP() << "they take more addresses than that for themselves";
  EXPECT_EXIT(multiply_without_room(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace troupe::test
