// Host memory that an accelerator takes long to register, on a device of queues.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(Registration, OfMuchHostMemoryIsNotTakenForSilence) {
  ::setenv("TROUPE_TEST_SHARE_MS", "1500", 1);  // NOLINT(concurrency-mt-unsafe): before any thread
  system system;
  device gpu =
      system.device(0, {.standby = false, .silence_timeout = 200ms, .backend_path = QUEUES_PLUGIN});
  gpu.wait_until_ready().value();
  const auto generation = gpu.generation();
  auto host = gpu.host_tensor<float>({std::int64_t{64} << 20}).value();
  auto part = host.slice(0, 0, 1000).value();
  const auto asked = std::chrono::steady_clock::now();
  gpu.ask(memory::fill{.to = part, .value = 3}).get();
  EXPECT_GT(std::chrono::steady_clock::now() - asked, 1s) << "the memory was not waited for";
  EXPECT_EQ(host.elements()[999], 3.0F);
  EXPECT_EQ(gpu.generation(), generation) << "a worker that was busy was taken for lost";
}

}  // namespace
}  // namespace troupe
