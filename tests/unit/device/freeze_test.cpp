#include "under_sanitizers.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace troupe {
namespace {

// To a worker it is `memory::fill`; its sender stands still once its operand has been found
// writable, which is before its rules are looked at.
struct hesitant_fill {
  static constexpr std::string_view name = memory::fill::name;
  using reply = void;

  any_tensor to{};
  scalar value = 0;

  static inline std::function<void()> hesitate;

  static void describe(description<hesitant_fill>& d) {
    d.about("Sets every element to one value.");
    d.writes("to", &hesitant_fill::to, {}, "destination");
    d.value("value", &hesitant_fill::value, "value of each element");
    d.rule("its sender may stand still", [](argument_checks&, const hesitant_fill&) {
      if (hesitate) hesitate();
    });
  }
};

class DeviceFreeze : public testing::Test {
 protected:
  static result<void> scale(const device& on, const any_tensor& x) {
    return on.ask(blas::scal{.x = x, .alpha = 2.0f}).get_result();
  }
  static errc code(result<void> outcome) { return outcome ? errc{} : outcome.error().code; }
  errc stray_write(const any_tensor& t) {
    return code(
        device_.ask(fault::inject{.what = fault::kind::write_frozen, .target = t}).get_result());
  }

  // Half of the device's memory, and a granule of a GPU's: the rights of less cannot be changed.
  static constexpr std::int64_t count = 512 << 10;
  static constexpr std::uint64_t granule = count * sizeof(float);
  system system_;
  device device_ = system_.device(
      0, {.memory_limit_bytes = 2 * granule, .lane_threads = 2, .fault_injection = true});
};

TEST_F(DeviceFreeze, AStrayWriteEndsItsWorkerAndChangesNothing) {
  const auto t = device_.tensor<float>({count}).value();
  EXPECT_EQ(stray_write(t), errc{}) << "before it is frozen nothing holds it back";
  device_.freeze(t).get();
  EXPECT_EQ(stray_write(t), errc::device_fault);
  // The next worker, which began with the tensor frozen, has it so too.
  EXPECT_EQ(stray_write(t), errc::device_fault);
}

TEST_F(DeviceFreeze, ARequestThatWouldWriteIsRefused) {
  const auto t = device_.tensor<float>({count}).value();
  device_.freeze(t).get();
  EXPECT_EQ(code(scale(device_, t)), errc::frozen_buffer);
  device_.thaw(t).get();
  EXPECT_EQ(code(scale(device_, t)), errc{});
}

TEST_F(DeviceFreeze, AWriteThatWasAboutToBeSentComesBeforeIt) {
  const auto t = device_.tensor<float>({count}).value();
  ASSERT_TRUE(device_.wait_until_ready());
  std::atomic<bool> looked{false};
  std::atomic<bool> frozen{false};
  hesitant_fill::hesitate = [&] {
    if (looked.exchange(true)) return;
    // A freeze that does not wait for this is over long before.
    const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!frozen && std::chrono::steady_clock::now() < enough)
      std::this_thread::yield();
  };
  result<void> filled;
  std::thread sender(
      [&] { filled = device_.ask(hesitant_fill{.to = t, .value = 2}).get_result(); });
  while (!looked)
    std::this_thread::yield();
  auto done = device_.freeze(t).then([&] { frozen = true; });
  done.get();
  sender.join();
  hesitant_fill::hesitate = {};
  EXPECT_TRUE(filled) << filled.error().to_string();
  EXPECT_EQ(device_.generation(), 1u);
  EXPECT_EQ(code(scale(device_, t)), errc::frozen_buffer);
}

TEST_F(DeviceFreeze, AnotherDeviceNeitherFreezesNorThaws) {
  device other = device_;
  try {
    other = system_.device(1, {.memory_limit_bytes = 2 * granule});
  } catch (const failure& why) {
    ASSERT_EQ(why.code(), errc::device_unavailable);
    GTEST_SKIP() << "there is one GPU";
  }
  const auto t = device_.tensor<float>({count}).value();
  const auto frozen = device_.tensor<float>({count}).value();
  device_.freeze(frozen).get();
  for (const auto& one : {t, frozen}) {
    EXPECT_EQ(code(other.freeze(one).get_result()), errc::foreign_buffer);
    EXPECT_EQ(code(other.thaw(one).get_result()), errc::foreign_buffer);
  }
  EXPECT_EQ(code(scale(device_, t)), errc{});
  EXPECT_EQ(code(scale(device_, frozen)), errc::frozen_buffer);
}

TEST_F(DeviceFreeze, AFrozenTensorStaysFrozenWhenASecondFreezeIsRefused) {
  device_.stop();  // in its place: there may be one GPU
  device full = system_.device(
      0, {.mailbox_capacity = 1, .memory_limit_bytes = 2 * granule, .fault_injection = true});
  const auto t = full.tensor<float>({count}).value();
  const auto open = full.tensor<float>({count}).value();
  const auto flag = full.host_tensor<std::uint32_t>({1}).value();
  full.freeze(t).get();
  auto held = full.ask(fault::spin_until{.flag = flag});
  EXPECT_EQ(code(full.freeze(t).get_result()), errc::mailbox_full);
  EXPECT_EQ(code(full.freeze(open).get_result()), errc::mailbox_full);
  std::atomic_ref(*flag.data()).store(1);
  held.get();
  EXPECT_EQ(code(scale(full, t)), errc::frozen_buffer);
  EXPECT_EQ(code(scale(full, open)), errc{}) << "what was not frozen is not refused";
  EXPECT_EQ(full.generation(), 1u);
}

TEST_F(DeviceFreeze, MemoryOfAFrozenTensorThatIsGoneCanBeWrittenByTheNext) {
  ASSERT_TRUE(device_.wait_until_ready());
  const auto other = device_.tensor<float>({count}).value();
  for (int round = 0; round < 4; ++round) {
    auto frozen = device_.tensor<float>({count});
    while (!frozen)  // until the one before is thawed and given back
      frozen = device_.tensor<float>({count});
    device_.freeze(*frozen).get();
  }
  auto next = device_.tensor<float>({count});
  while (!next)
    next = device_.tensor<float>({count});
  EXPECT_EQ(code(scale(device_, *next)), errc{});
  EXPECT_EQ(device_.health().restarts, 0u);
}

// Takes every mapping that the system grants a process.
class all_mappings {
 public:
  all_mappings() {
    std::size_t i = 0;
    while (i < pages_ && ::mprotect(at_ + i * page, page, PROT_READ) == 0)
      i += 2;
  }
  all_mappings(const all_mappings&) = delete;
  all_mappings& operator=(const all_mappings&) = delete;
  ~all_mappings() { ::munmap(at_, pages_ * page); }

 private:
  static std::size_t granted() {
    std::size_t mappings = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return mappings;
  }

  static constexpr std::size_t page = 4096;
  std::size_t pages_ = 2 * granted();
  std::byte* at_ = static_cast<std::byte*>(
      ::mmap(nullptr, pages_* page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
};

TEST_F(DeviceFreeze, IsRefusedWhereTheSystemHasNoRoomForIt) {
  if (test::under_sanitizers) GTEST_SKIP() << "they map memory of their own";
  device_.stop();
  // On a GPU the rights are the driver's to change.
  device mine = system_.device(0, {.isolation = isolation::thread,
                                   .backend = backend_kind::cpu,
                                   .memory_limit_bytes = granule,
                                   .lane_threads = 1});
  const auto t = mine.tensor<float>({1024}, initial::undefined, placement::own).value();
  // A thread's first allocation would take a mapping, too: also that of the continuations.
  EXPECT_EQ(code(scale(mine, t)), errc{});
  const auto has_allocated = std::make_shared<std::atomic<bool>>(false);
  mine.watch_generation([has_allocated](std::optional<std::uint64_t>) {
    const std::vector<std::byte> first(256);
    *has_allocated = true;
    has_allocated->notify_one();
  });
  has_allocated->wait(false);
  {
    const all_mappings taken;
    const auto outcome = mine.freeze(t).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::out_of_memory) << outcome.error().to_string();
  }
  EXPECT_EQ(code(scale(mine, t)), errc{});
  mine.freeze(t).get();
  EXPECT_EQ(code(scale(mine, t)), errc::frozen_buffer);
}

TEST_F(DeviceFreeze, OnlyDeviceMemoryCanBeFrozen) {
  const auto host = device_.host_tensor<float>({4}).value();
  float mine[4];
  const auto stranger = any_tensor::unowned(reinterpret_cast<std::byte*>(mine), dtype::f32, {4});
  EXPECT_EQ(code(device_.freeze(host).get_result()), errc::unsupported);
  EXPECT_EQ(code(device_.thaw(host).get_result()), errc::unsupported);
  EXPECT_EQ(code(device_.freeze(stranger).get_result()), errc::foreign_buffer);
  EXPECT_EQ(code(device_.freeze(any_tensor{}).get_result()), errc::foreign_buffer);
}

}  // namespace
}  // namespace troupe
