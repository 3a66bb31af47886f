#include "memory/device_source.hpp"
#include "memory/memory_pool.hpp"
#include "under_sanitizers.hpp"

#include <troupe/device/device_description.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t pool_granule = 4096;

std::shared_ptr<memory_pool> make_pool(std::uint64_t limit = 16 * pool_granule) {
  return memory_pool::create({.space = memory_space::device,
                              .device = 3,
                              .limit_bytes = limit,
                              .granule_bytes = pool_granule})
      .value();
}

TEST(MemoryPool, TwoPoolsLieAtDifferentAddresses) {
  const auto one = make_pool();
  const auto two = make_pool();
  EXPECT_NE(one->base(), two->base());
  std::memset(one->base(), 1, one->bytes());
  std::memset(two->base(), 2, two->bytes());
  EXPECT_EQ(one->base()[0], std::byte{1});
}

// As where another thread allocates at the fork: it is not in the copy to let go of the lock.
TEST(MemoryPool, AForkedProcessMayAskForStatisticsWhoeverHadTheLock) {
  const auto pool = make_pool();
  int status = -1;
  pool->watch_reach(&status, [&](std::uint64_t) {
    const pid_t copy = ::fork();
    if (copy == 0) {
      ::alarm(20);
      ::_exit(pool->statistics().limit_bytes == pool->bytes() ? 0 : 1);
    }
    EXPECT_EQ(::waitpid(copy, &status, 0), copy);
  });
  ASSERT_TRUE(pool->allocate(pool_granule, 1));
  pool->unwatch_reach(&status);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// As a machine with much memory has them: one for the host, and one for each device of the CPU.
TEST(MemoryPool, PoolsOfHalfAMachineLieBesideEachOther) {
  if (test::under_sanitizers) GTEST_SKIP() << "a sanitizer takes notes of all of it";
  std::vector<std::shared_ptr<memory_pool>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(make_pool(440 * gib));
    auto held = all.back()->allocate(pool_granule, 1).value();
    std::memset(held->address, i, pool_granule);
  }
}

TEST(MemoryPool, DefaultsLeaveRoomForManyDevicesWhateverTheMachineHas) {
  EXPECT_EQ(memory_pool::default_limit_bytes(64 * gib), 32 * gib);
  if (test::under_sanitizers) GTEST_SKIP() << "a sanitizer takes notes of all of it";
  constexpr std::uint64_t pebibyte = gib << 20;
  std::vector<std::shared_ptr<memory_pool>> all;
  all.reserve(16);
  for (int i = 0; i < 16; ++i)
    all.push_back(make_pool(memory_pool::default_limit_bytes(pebibyte)));
}

TEST(MemoryPool, ALimitThatNoAddressesAreFreeForNamesTheGreatestThatFits) {
  if (test::under_sanitizers) GTEST_SKIP() << "a sanitizer takes notes of all of it";
  const auto refusal = [](std::uint64_t limit) {
    return memory_pool::create({.space = memory_space::device,
                                .device = 3,
                                .limit_bytes = limit,
                                .granule_bytes = pool_granule})
        .error();
  };
  const error refused = refusal(60'000 * gib);
  EXPECT_EQ(refused.code, errc::out_of_memory);
  EXPECT_EQ(refused.device, 3);
  const std::size_t number = refused.message.find("at most ");
  ASSERT_NE(number, std::string::npos) << refused.message;
  const std::uint64_t greatest = std::stoull(refused.message.substr(number + 8));
  EXPECT_EQ(refusal(greatest + 1).code, errc::out_of_memory);
  EXPECT_EQ(refusal(~std::uint64_t{0}).code, errc::invalid_argument);
  EXPECT_TRUE(make_pool(greatest));
}

TEST(MemoryPool, OutOfMemoryNamesAskedFreeLargestAndLimit) {
  const auto pool = make_pool(4 * pool_granule);
  const auto first = pool->allocate(pool_granule, 1);
  auto second = pool->allocate(pool_granule, 1);
  const auto third = pool->allocate(pool_granule, 1);
  ASSERT_TRUE(first && second && third);
  *second = detail::buffer_ref();
  const auto refused = pool->allocate(2 * pool_granule, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  EXPECT_EQ(refused.error().device, 3);
  EXPECT_EQ(refused.error().message,
            "out of device memory: 8192 bytes requested, 8192 bytes free, largest free piece 4096 "
            "bytes, memory_limit_bytes 16384");
}

TEST(MemoryPool, OutOfMemoryCountsWhatWasGivenBackAsOne) {
  const auto pool = make_pool(4 * pool_granule);
  {
    const auto given_back = pool->allocate(3 * pool_granule, 1);
  }
  const auto refused = pool->allocate(5 * pool_granule, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "out of device memory: 20480 bytes requested, 16384 bytes free, largest free piece 16384 "
      "bytes, memory_limit_bytes 16384");
}

// The new owner of a buffer sees no other user, whichever thread was the last.
TEST(MemoryPool, ABufferHasOneOwnerHoweverManyThreadsLetGoOfIt) {
  constexpr int each = 5'000;
  constexpr std::size_t threads = 3;
  const auto pool = make_pool(8 * pool_granule);
  std::array<std::mutex, threads> locks;
  std::array<detail::buffer_ref, threads> handed;  // each under its lock
  std::atomic<int> in_two_hands{0};
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        const auto mark = static_cast<std::byte>(t + 1);
        for (int i = 0; i < each; ++i) {
          auto fresh = pool->allocate(pool_granule, 1);
          if (!fresh) continue;
          std::byte* const content = (*fresh)->address;
          // Plain: the last owner's stores must be over.
          content[0] = mark;
          detail::buffer_ref shared = *fresh;
          if (content[0] != mark) in_two_hands.fetch_add(1);
          const std::lock_guard lock(locks[(t + 1) % threads]);
          handed[(t + 1) % threads] = std::move(shared);
        }
      });
    }
  }
  EXPECT_EQ(in_two_hands, 0);
  for (detail::buffer_ref& one : handed)
    one = {};
  EXPECT_EQ(pool->statistics().used_bytes, 0u);
  EXPECT_EQ(pool->statistics().buffers, 0u);
}

TEST(MemoryPool, RefusesMoreThanItsLimitWithoutOverflow) {
  const auto pool = make_pool();
  EXPECT_EQ(pool->allocate(~std::uint64_t{0}, 1).error().code, errc::out_of_memory);
  EXPECT_EQ(pool->allocate(pool->bytes() + 1, 1).error().code, errc::out_of_memory);
}

TEST(MemoryPool, GivesAllThatItHasToOneBuffer) {
  const auto pool = make_pool(17 * pool_granule);
  auto all = pool->allocate(17 * pool_granule, 1);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(pool->statistics().used_bytes, 17 * pool_granule);
}

TEST(MemoryPool, BuffersStartAtGranulesWithinTheirSpaceAndRememberTheirOrigin) {
  const auto pool = make_pool();
  const auto b = pool->allocate(100, 7);
  ASSERT_TRUE(b);
  const detail::buffer& buffer = *b->get();
  EXPECT_EQ(buffer.offset % pool_granule, 0u);
  EXPECT_EQ(buffer.address, pool->base() + buffer.offset);
  EXPECT_EQ(buffer.bytes, 100u);
  EXPECT_EQ(buffer.capacity_bytes, pool_granule);
  EXPECT_EQ(buffer.generation, 7u);
  EXPECT_EQ(buffer.space, memory_space::device);
}

TEST(MemoryPool, CountsUseAndPeak) {
  const auto pool = make_pool();
  auto a = pool->allocate(pool_granule, 1);
  auto b = pool->allocate(pool_granule, 1);
  *a = detail::buffer_ref();
  const pool_statistics s = pool->statistics();
  EXPECT_EQ(s.used_bytes, pool_granule);
  EXPECT_EQ(s.peak_bytes, 2 * pool_granule);
  EXPECT_EQ(s.buffers, 1u);
  EXPECT_EQ(s.limit_bytes, 16 * pool_granule);
}

TEST(MemoryPool, ABufferIsGivenBackWithItsLastReferenceOnly) {
  const auto pool = make_pool();
  auto a = pool->allocate(pool_granule, 1);
  detail::buffer_ref copy = *a;
  *a = detail::buffer_ref();
  EXPECT_EQ(pool->statistics().buffers, 1u);
  copy = detail::buffer_ref();
  EXPECT_EQ(pool->statistics().buffers, 0u);
}

TEST(MemoryPool, BuffersOutliveThePoolsOwner) {
  auto pool = make_pool();
  const std::weak_ptr<memory_pool> watched = pool;
  auto buffer = std::optional(pool->allocate(pool_granule, 1).value());
  std::byte* const address = (*buffer)->address;
  pool->close({.code = errc::device_stopped});
  pool.reset();
  ASSERT_FALSE(watched.expired());
  std::memset(address, 5, pool_granule);
  buffer.reset();
  EXPECT_TRUE(watched.expired()) << "the pool outlives its last buffer";
}

TEST(MemoryPool, AClosedPoolRefusesNewBuffers) {
  const auto pool = make_pool();
  pool->close({.code = errc::device_fault, .message = "the reason"});
  const error why = pool->allocate(1, 1).error();
  EXPECT_EQ(why.code, errc::device_stopped);
  ASSERT_NE(why.cause, nullptr);
  EXPECT_EQ(why.cause->message, "the reason");
}

TEST(MemoryPool, TrimEmptiesWhatNobodyUsesAndNothingElse) {
  const auto pool = make_pool();
  auto kept = pool->allocate(pool_granule, 1);
  auto dropped = pool->allocate(pool_granule, 1);
  std::byte* const old = (*dropped)->address;
  (*kept)->address[0] = std::byte{1};
  old[0] = std::byte{2};
  *dropped = detail::buffer_ref();
  pool->trim();
  EXPECT_EQ(old[0], std::byte{0}) << "its pages were given back, so they read as zero";
  EXPECT_EQ((*kept)->address[0], std::byte{1});
}

TEST(MemoryPool, AFrozenBufferIsNotHandedOutAgainBeforeItIsThawed) {
  const auto pool = make_pool(pool_granule);
  detail::buffer_ref waiting;
  pool->on_frozen_unused([&](detail::buffer_ref unused) { waiting = std::move(unused); });
  auto frozen = pool->allocate(pool_granule, 1);
  (*frozen)->state.fetch_or(buffer_frozen);
  *frozen = detail::buffer_ref();
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(pool->allocate(pool_granule, 1));
  waiting->state.fetch_and(~std::uint32_t{buffer_frozen});
  waiting = detail::buffer_ref();
  EXPECT_TRUE(pool->allocate(pool_granule, 1));
}

TEST(MemoryPool, ForgetsWhatIsUndefinedInABufferThatIsGivenBack) {
  const auto pool = make_pool();
  detail::buffer_ref buffer = pool->allocate(1000, 1).value();
  pool->taints().taint(*buffer.get(), {0, 1000}, {.ticket = 1},
                       std::make_shared<failed_writer>(failed_writer{"culprit", {}}));
  const std::uint32_t id = buffer->id;
  buffer = detail::buffer_ref();
  buffer = pool->allocate(1000, 1).value();
  ASSERT_EQ(buffer->id, id) << "this test wants the same block again";
  EXPECT_EQ(buffer->state.load(), 0u);
  EXPECT_EQ(pool->taints().tainted_for({}, *buffer.get(), 0, 1000), nullptr);
}

// A device's memory that is never touched.
class untouched_source final : public device_source {
 public:
  const device_description& description() const noexcept override { return description_; }
  std::uint64_t granule_bytes() const noexcept override { return 2 << 20; }
  result<std::unique_ptr<memory_slab>> allocate(std::uint64_t) override {
    struct slab final : memory_slab {
      int descriptor() const noexcept override { return -1; }
    };
    return std::unique_ptr<memory_slab>(std::make_unique<slab>());
  }
  result<memory_level> level() override { return memory_level{}; }
  void on_fault(alarm) override {}
  bool used_only_by(const std::vector<std::int32_t>&) override { return true; }

 private:
  device_description description_;
};

TEST(MemoryPool, SaysHowMuchOfADeviceItKeepsForTheNextBuffer) {
  const auto pool = memory_pool::create({.space = memory_space::device,
                                         .device = 0,
                                         .limit_bytes = 64 << 20,
                                         .granule_bytes = 2 << 20,
                                         .source = std::make_shared<untouched_source>()})
                        .value();
  detail::buffer_ref buffer = pool->allocate(8 << 20, 1).value();
  EXPECT_EQ(pool->statistics().used_bytes, 8U << 20);
  EXPECT_EQ(pool->statistics().kept_bytes, 0U);
  buffer = detail::buffer_ref();
  EXPECT_EQ(pool->statistics().used_bytes, 0U);
  EXPECT_EQ(pool->statistics().kept_bytes, 8U << 20);
  pool->trim();
  EXPECT_EQ(pool->statistics().kept_bytes, 0U);
}

}  // namespace
}  // namespace troupe
