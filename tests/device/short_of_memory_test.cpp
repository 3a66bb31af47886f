// An allocation that fails in a thread of the library's, or in a thread that waits for an answer,
// is an error of what it was for. It never ends the program, and nothing goes unanswered.

#include "device/fixtures/device_under_fault.hpp"
#include "under_sanitizers.hpp"

#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/request_builder.hpp>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string_view>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

// Which allocation fails, of those of some threads: the first of one after so many.
constinit std::atomic<bool> armed{false};
constinit std::atomic<std::int64_t> left_before{0};
constinit std::atomic<bool> has_failed{false};
enum class whose : std::uint8_t { unknown, program, library };
constinit thread_local whose mine = whose::unknown;
constinit thread_local bool waits_for_answer = false;  // and so may do the library's work

bool is_the_librarys() noexcept {
  if (mine == whose::unknown) {
    char name[16] = {};
    ::prctl(PR_GET_NAME, name);
    const std::string_view called(name);
    if (called == "device_test") return false;  // a thread that has no name yet
    mine = called == "troupe-device" || called == "troupe-copy" ? whose::library : whose::program;
  }
  return mine == whose::library;
}

bool fails_now() noexcept {
  if (!armed.load(std::memory_order_relaxed) || !(waits_for_answer || is_the_librarys()))
    return false;
  if (left_before.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  has_failed = true;
  return true;
}

}  // namespace

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* const memory =
      fails_now()
          ? nullptr
          : std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) /
                                              alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace troupe::test

#if !TROUPE_UNDER_SANITIZERS
void* operator new(std::size_t bytes) {
  return troupe::test::allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return troupe::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace troupe::test {
namespace {

class ShortOfMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (under_sanitizers) GTEST_SKIP() << "the sanitizers bring an allocator of their own";
    ASSERT_TRUE(gpu_.wait_until_ready());
    (void)round(false);  // one-time allocations are made here
  }

  struct asked {
    std::function<bool()> ready;
    std::function<error()> outcome;  // without a code: it ended well
  };
  template <class T>
  static asked watch(future<T> f) {
    auto held = std::make_shared<future<T>>(std::move(f));
    return {.ready = [held] { return held->ready(); },
            .outcome = [held]() -> error {
              auto got = held->get_result();
              return got ? error{.code = errc{}} : std::move(got).error();
            }};
  }

  // Sends one of each kind. `wait`: this thread brings the answers in, else the device's does.
  std::vector<asked> send() {
    std::vector<asked> all;
    for (const bool fail : {false, true}) {
      for (const std::int64_t letters : {10, 400, 100'000})
        all.push_back(watch(gpu_.ask(say{.letters = letters, .numbers = 5, .fail = fail})));
    }
    any_request repeat(repeat_type());
    all.push_back(watch(gpu_.ask(repeat)));
    all.push_back(watch(gpu_.ask(memory::fill{.to = tensor_, .value = 1})));
    all.push_back(watch(gpu_.ask(sum{.input = tensor_}).then([](double) { return 1; })));
    all.push_back(watch(gpu_.ask(lane::marker{}, {.deadline = 1ns})));
    all.push_back(watch(gpu_.copy(std::span<const float>(source_), tensor_)));
    all.push_back(watch(gpu_.copy(tensor_, std::span<float>(target_))));
    (void)gpu_.tell(lane::marker{});
    return all;
  }

  // \returns what they ended with
  std::vector<error> round(bool kill) {
    std::vector<asked> all = send();
    if (kill && gpu_.worker_pid()) kill_worker(gpu_);
    std::vector<error> ends;
    for (const asked& one : all) {
      if (!waits_itself_) {
        EXPECT_TRUE(eventually(one.ready)) << "of " << all.size() << ", " << ends.size();
      }
      waits_for_answer = waits_itself_;
      error end = one.outcome();
      waits_for_answer = false;
      ends.push_back(std::move(end));
    }
    return ends;
  }

  // The n-th allocation fails, for each n that there is, or for each so many.
  void try_each(std::int64_t step, bool kill) {
    int stopped = 0;
    std::int64_t n = 0;
    for (bool hit = true; hit; n += step) {
      SCOPED_TRACE(n);
      left_before = n;
      has_failed = false;
      armed = true;
      const std::vector<error> ends = round(kill);
      armed = false;
      hit = has_failed;
      for (const error& e : ends) {
        const bool expected = e.code == errc{} || e.code == errc::library_error ||
                              e.code == errc::deadline_exceeded || e.code == errc::out_of_memory ||
                              e.code == errc::device_stopped ||
                              (kill && (e.code == errc::aborted || e.code == errc::tainted_buffer));
        EXPECT_TRUE(expected) << e.to_string();
      }
      if (gpu_.health().state == device_state::stopped) {
        ++stopped;
        ASSERT_TRUE(gpu_.restart());
      }
      ASSERT_TRUE(ended(gpu_.ask(lane::marker{})));
      ASSERT_TRUE(ended(gpu_.ask(memory::fill{.to = tensor_, .value = 0})));
    }
    RecordProperty("allocations", static_cast<int>(n));
    RecordProperty("stopped", stopped);
    EXPECT_GT(n, 5);
    EXPECT_TRUE(kill || stopped == 0) << stopped;
  }

  static device_config config() {
    device_config c = permissive();
    c.standby = false;
    return c;
  }

  bool waits_itself_ = false;
  troupe::system system_;
  device gpu_ = system_.device(0, config());
  tensor<float> tensor_ = gpu_.tensor<float>({1 << 19}).value();
  std::vector<float> source_ = std::vector<float>(1 << 19, 1.0f);
  std::vector<float> target_ = std::vector<float>(1 << 19);
};

TEST_F(ShortOfMemory, InTheDevicesThreadsIsOneRequestsError) { try_each(1, false); }

TEST_F(ShortOfMemory, InAThreadThatWaitsIsOneRequestsError) {
  waits_itself_ = true;
  try_each(1, false);
}

// A failure while the device settles a loss may stop it, and then everything is answered. With
// TROUPE_EACH_ALLOCATION each allocation fails.
TEST_F(ShortOfMemory, WhileAWorkerIsLostLosesNoAnswer) {
  try_each(std::getenv("TROUPE_EACH_ALLOCATION") != nullptr ? 1 : 7, true);
}

}  // namespace
}  // namespace troupe::test
