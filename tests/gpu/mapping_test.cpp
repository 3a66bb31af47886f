// Tensors mapped by the program, on the CPU backend in both isolations and on a device of
// queues, whose memory the program has to map like a GPU's. gpu_mapping (mapping.cpp) is for GPUs.

#include <troupe/blas/level1.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t count = 1000;

enum class where { process, thread, queues };

class Lease : public testing::TestWithParam<where> {
 protected:
  static device_config config() {
    device_config made{.backend = backend_kind::cpu,
                       .restarts = {.restarts = 100},
                       .backoff = {.initial = 1ms, .longest = 1ms},
                       .fault_injection = true};
    if (GetParam() == where::thread) made.isolation = isolation::thread;
    if (GetParam() == where::queues) made.backend_path = QUEUES_PLUGIN;
    return made;
  }
  void fill(float value) {
    ASSERT_TRUE(gpu_.ask(memory::fill{.to = t_, .value = value}).get_result());
  }
  /// One that keeps its lane busy for a while after it has begun.
  future<void> slow_fill(double value) {
    const library_actor lane = gpu_.library("slow").on_new_lane();
    (void)lane.tell(fault::inject{.what = fault::kind::spin, .duration_ns = 50'000'000});
    return lane.ask(memory::fill{.to = t_, .value = value});
  }

  troupe::system system_;
  device gpu_ = system_.device(0, config());
  tensor<float> t_ = gpu_.tensor<float>({count}).value();
  tensor<float> other_ = gpu_.tensor<float>({count}, initial::zero).value();
};

INSTANTIATE_TEST_SUITE_P(Everywhere, Lease,
                         testing::Values(where::process, where::thread, where::queues),
                         [](const auto& place) -> std::string {
                           switch (place.param) {
                             case where::process:
                               return "Process";
                             case where::thread:
                               return "Thread";
                             case where::queues:
                               return "Queues";
                           }
                           return "";
                         });

TEST_P(Lease, ShowsWhatRequestsBeforeItWrote) {
  auto written = slow_fill(3);
  auto mapped = gpu_.mapped(t_, access::read).get();
  EXPECT_EQ(mapped.data<float>()[0], 3.0f);
  EXPECT_EQ(mapped.data<float>()[count - 1], 3.0f);
  EXPECT_TRUE(written.get_result());
}

TEST_P(Lease, IsSeenByRequestsAfterIt) {
  fill(1);
  auto mapped = gpu_.mapped(t_, access::update).get();
  auto doubled = gpu_.ask(blas::scal{.x = t_, .alpha = 2.0f});
  EXPECT_FALSE(doubled.wait_for(30ms)) << "it has to wait";
  for (std::int64_t i = 0; i < count; ++i)
    mapped.data<float>()[i] = 5;
  mapped.unmap();
  EXPECT_EQ(mapped.address(), nullptr);
  ASSERT_TRUE(doubled.get_result());
  std::vector<float> here(count);
  gpu_.copy(t_, std::span(here)).get();
  EXPECT_EQ(here.front(), 10.0f);
  EXPECT_EQ(here.back(), 10.0f);
}

TEST_P(Lease, ToReadLetsOtherReadersGoOn) {
  fill(2);
  auto mapped = gpu_.mapped(t_, access::read).get();
  auto again = gpu_.mapped(t_, access::read).get();
  std::vector<float> here(count);
  EXPECT_TRUE(gpu_.copy(t_, std::span(here)).get_result());
  auto written = gpu_.ask(memory::fill{.to = t_, .value = 4});
  EXPECT_FALSE(written.wait_for(30ms));
  mapped.unmap();
  EXPECT_FALSE(written.wait_for(30ms)) << "the other one still reads";
  EXPECT_EQ(again.data<float>()[7], 2.0f);
  again.unmap();
  EXPECT_TRUE(written.get_result());
}

TEST_P(Lease, LeavesOtherTensorsAlone) {
  auto mapped = gpu_.mapped(t_, access::write).get();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(gpu_.ask(memory::fill{.to = other_, .value = i}).get_result());
}

TEST_P(Lease, IsOfAViewWhereItLies) {
  fill(0);
  {
    auto mapped = gpu_.mapped(t_.slice(0, 10, 12).value(), access::write).get();
    EXPECT_EQ(mapped.tensor().count(), 2);
    mapped.data<float>()[0] = 1;
    mapped.data<float>()[1] = 2;
    // A request that does not overlap is not held back.
    EXPECT_TRUE(gpu_.ask(memory::fill{.to = t_.slice(0, 12, 20).value(), .value = 9}).get_result());
  }  // given back
  std::vector<float> here(count);
  gpu_.copy(t_, std::span(here)).get();
  EXPECT_EQ(here[9], 0.0f);
  EXPECT_EQ(here[10], 1.0f);
  EXPECT_EQ(here[11], 2.0f);
  EXPECT_EQ(here[12], 9.0f);
}

TEST_P(Lease, WaitsOnlyAsLongAsThePatience) {
  auto first = gpu_.mapped(t_, access::update).get();
  auto second = gpu_.mapped(t_, access::update, 20ms).get_result();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::deadline_exceeded);
  first.unmap();
  EXPECT_TRUE(gpu_.mapped(t_, access::update, 10s).get_result())
      << "the second one is out of the way";
}

TEST_P(Lease, IsNotHeldUpByOneThatWaitedInVainForAnotherTensor) {
  auto first = gpu_.mapped(t_, access::update).get();
  EXPECT_FALSE(gpu_.mapped(t_, access::update, 1ms).get_result());
  {
    const auto unrelated = gpu_.mapped(other_, access::update, 10s).get_result();
    EXPECT_TRUE(unrelated) << unrelated.error().to_string();
  }
  for (int i = 0; i < 6; ++i)
    EXPECT_FALSE(gpu_.mapped(t_, access::update, 1ms).get_result());
  const auto none_left = gpu_.mapped(other_, access::update, 10s).get_result();
  ASSERT_FALSE(none_left);
  EXPECT_EQ(none_left.error().code, errc::mailbox_full);
  first.unmap();
  // The mapping that waited in vain is gone now, and its lanes are free again.
  std::vector<mapped_tensor> mapped;
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (mapped.size() < 8 && std::chrono::steady_clock::now() < give_up) {
    if (auto one = gpu_.mapped(other_, access::read, 10s).get_result()) {
      mapped.push_back(*std::move(one));
    }
  }
  EXPECT_EQ(mapped.size(), 8u);
}

TEST_P(Lease, ThatNobodyTakesHoldsNothingUp) {
  {
    auto dropped = gpu_.mapped(t_, access::update);
  }
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = t_, .value = 4}).get_result());
}

TEST_P(Lease, BeyondWhatADeviceLendsIsRefused) {
  std::vector<mapped_tensor> all;
  std::vector<tensor<float>> tensors;
  for (int i = 0; i < 8; ++i) {
    tensors.push_back(gpu_.tensor<float>({8}).value());
    all.push_back(gpu_.mapped(tensors.back(), access::write).get());
  }
  auto refused = gpu_.mapped(t_, access::read).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::mailbox_full);
  all.pop_back();
  EXPECT_TRUE(gpu_.mapped(t_, access::read).get_result());
}

TEST_P(Lease, OfWhatCannotBeUsedSoIsRefused) {
  gpu_.release(other_);
  auto stale = gpu_.mapped(other_, access::read).get_result();
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, errc::stale_buffer);
  auto own = gpu_.tensor<float>({8}, initial::zero, placement::own).value();
  ASSERT_TRUE(gpu_.freeze(own).get_result());
  auto frozen = gpu_.mapped(own, access::update).get_result();
  ASSERT_FALSE(frozen);
  EXPECT_EQ(frozen.error().code, errc::frozen_buffer);
  EXPECT_EQ(gpu_.mapped(own, access::read).get().data<float>()[0], 0.0f);
}

TEST_P(Lease, OutlivesTheWorkerThatHeldItsPlace) {
  if (GetParam() == where::thread) GTEST_SKIP() << "there is no worker to lose";
  fill(1);
  auto mapped = gpu_.mapped(t_, access::update).get();
  auto waiting = gpu_.ask(blas::scal{.x = t_, .alpha = 2.0f});
  for (std::uint64_t lost = 1; lost <= 3; ++lost) {
    if (lost == 1) {
      ASSERT_EQ(::kill(gpu_.worker_pid().value(), SIGKILL), 0);
    } else {
      auto culprit = gpu_.ask(fault::inject{.what = fault::kind::segmentation_fault}).get_result();
      ASSERT_FALSE(culprit);
      EXPECT_EQ(culprit.error().code, errc::device_fault) << "it alone is suspected";
    }
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (gpu_.generation() < lost + 1 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_TRUE(gpu_.ask(memory::fill{.to = other_, .value = 1}).get_result());
    EXPECT_FALSE(waiting.ready()) << "the next worker holds the place, too";
  }
  for (std::int64_t i = 0; i < count; ++i)
    mapped.data<float>()[i] = 7;
  mapped.unmap();
  ASSERT_TRUE(waiting.get_result());
  std::vector<float> here(count);
  gpu_.copy(t_, std::span(here)).get();
  EXPECT_EQ(here[3], 14.0f);
}

TEST_P(Lease, OutlivesItsDevice) {
  fill(6);
  auto mapped = gpu_.mapped(t_, access::read).get();
  auto waiting = gpu_.mapped(t_, access::update);
  gpu_.stop();
  auto refused = std::move(waiting).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::device_stopped);
  EXPECT_EQ(mapped.data<float>()[0], 6.0f);
}

TEST_P(Lease, ManyAfterEachOtherKeepTheOrder) {
  fill(0);
  auto one = gpu_.tensor<float>({1}).value();
  ASSERT_TRUE(gpu_.ask(memory::fill{.to = one, .value = 1}).get_result());
  for (int i = 0; i < 200; ++i) {
    auto mapped = gpu_.mapped(t_, access::update).get();
    ASSERT_EQ(mapped.data<float>()[0], static_cast<float>(2 * i));
    mapped.data<float>()[0] += 1;
    mapped.unmap();
    (void)gpu_.tell(blas::axpy{.x = one, .y = t_.slice(0, 0, 1).value(), .alpha = 1.0f});
  }
}

}  // namespace
}  // namespace troupe
