#pragma once

#include <troupe/plugin/accelerator.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// A GPU's stand-in whose lanes are threads. It keeps what a GPU promises and not more: a call
/// returns before anything is done, a lane runs in order, it waits for another lane only where it
/// was told to, and after a fault nothing runs any more and no mark lands.
namespace troupe::testing_worker {

class fake_accelerator;

class fake_lane final : public accelerator_lane {
 public:
  fake_lane(fake_accelerator& device, int number);
  ~fake_lane() override;
  fake_lane(const fake_lane&) = delete;
  fake_lane& operator=(const fake_lane&) = delete;

  [[nodiscard]] int lane() const noexcept override { return number_; }
  [[nodiscard]] std::shared_ptr<kept_blobs> blobs() const override { return blobs_; }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override {
    // Recorded work goes on using the rooms of a twin.
    if (rooms_.empty() || rooms_.back().size() < bytes) {
      if (!is_twin_) rooms_.clear();
      rooms_.emplace_back(bytes);
    }
    return std::span(rooms_.back()).first(bytes);
  }
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    host_room_.resize(bytes);
    return std::span(host_room_);
  }
  [[nodiscard]] result<void> wait_for(accelerator_lane& other) override;
  [[nodiscard]] result<void> mark(std::uint64_t* where, std::uint64_t value) override;
  [[nodiscard]] result<void> mark_aside(std::uint64_t* where, std::uint64_t value) override;
  [[nodiscard]] result<void> check() override;
  [[nodiscard]] bool is_recording() const noexcept override { return recording_ != nullptr; }
  void retain(std::shared_ptr<const void> object) override;
  [[nodiscard]] accelerator_lane* twin() override;
  void replace_twin() noexcept override { old_twins_.push_back(std::move(twin_)); }
  [[nodiscard]] result<void> begin_recording() override;
  [[nodiscard]] result<void> check_recording() override;
  [[nodiscard]] result<std::unique_ptr<recorded_work>> end_recording(
      std::unique_ptr<recorded_work> like) override;
  [[nodiscard]] std::byte* place_for_failure() override;
  [[nodiscard]] result<void> launch(recorded_work& work, std::byte* reply) override;
  [[nodiscard]] result<void> begin_condition(const recorded_condition& c) override;
  [[nodiscard]] result<void> begin_body(std::uint64_t number) override;
  [[nodiscard]] result<void> end_body() override;
  [[nodiscard]] result<void> end_condition() override;
  [[nodiscard]] result<void> record_store(std::uint64_t* where, std::uint64_t value) override;
  [[nodiscard]] result<void> finish() override {
    while (done_->load(std::memory_order_acquire) < enqueued_ && !ended())
      std::this_thread::yield();
    return check();
  }

  /// Called by executors; `work` runs on the lane's thread.
  void enqueue(std::function<void()> work);
  /// The same for work that cannot be recorded.
  void enqueue_eagerly(std::function<void()> work) {
    if (recording_) is_spoilt_ = true;
    enqueue(std::move(work));
  }
  /// For work that blocks: true once it has to give up.
  [[nodiscard]] bool ended() const noexcept;
  [[nodiscard]] fake_accelerator& device() noexcept { return device_; }

 private:
  class recording;

  void record(std::function<void()> work);
  void run();
  void follow(const fake_lane& other);
  void store(std::uint64_t* where, std::uint64_t value);

  fake_accelerator& device_;
  int number_;
  std::shared_ptr<kept_blobs> blobs_;
  std::deque<std::vector<std::byte>> rooms_;
  std::vector<std::byte> host_room_;
  bool is_twin_ = false, is_spoilt_ = false;  // spoilt: by work that cannot be recorded
  std::unique_ptr<recording> recording_;
  std::unique_ptr<fake_lane> twin_;
  std::vector<std::unique_ptr<fake_lane>> old_twins_;
  std::uint64_t enqueued_ = 0;  // counted by the enqueuing thread
  // Release: a thread that sees the count sees the work. Outlives the lane, as an event
  // that another lane waits for does.
  std::shared_ptr<std::atomic<std::uint64_t>> done_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> queue_;  // under the mutex
  std::atomic<bool> ending_{false};
  std::jthread thread_;
  std::unique_ptr<fake_lane> aside_;  // stores the marks that this lane does not wait for
};

/// Any thread may read and set the public members.
class fake_accelerator final : public accelerator {
 public:
  explicit fake_accelerator(unsigned seed = 0) : seed_(seed) {}

  void enter_thread() override { entered.fetch_add(1); }
  [[nodiscard]] result<void> map(std::byte*, std::uint64_t, int) override { return {}; }
  [[nodiscard]] result<void> unmap(std::byte*, std::uint64_t) override { return {}; }
  [[nodiscard]] result<void> protect(std::byte*, std::uint64_t, bool) override { return {}; }
  [[nodiscard]] result<void> share(std::byte*, std::uint64_t) override { return {}; }
  [[nodiscard]] result<std::unique_ptr<accelerator_lane>> make_lane(int number) override {
    if (fails_to_make_lanes.load()) {
      return error{.code = errc::out_of_memory, .message = "no memory for a queue"};
    }
    lanes.fetch_add(1);
    return std::unique_ptr<accelerator_lane>(std::make_unique<fake_lane>(*this, number));
  }

  [[nodiscard]] bool records_conditions() const noexcept override { return looks_itself.load(); }

  /// As after a fault of a kernel: every lane is lost, whichever it was.
  void lose() noexcept { lost.store(true); }
  [[nodiscard]] result<void> outcome(std::atomic<bool>& fails, const char* call) const {
    if (!lost.load() && !fails.load()) return {};
    return error{.code = errc::device_fault, .message = "the fake is lost", .call = call};
  }
  [[nodiscard]] unsigned seed() const noexcept { return seed_; }

  std::atomic<bool> lost{false};
  std::atomic<bool> fails_to_make_lanes{false};
  std::atomic<bool> fails_to_wait{false};
  std::atomic<bool> fails_to_mark{false};
  std::atomic<bool> fails_the_check{false};
  std::atomic<bool> records{true}, fails_to_end_recording{false};
  std::atomic<bool> looks_itself{true};  ///< at conditions, in recordings

  std::shared_ptr<kept_blobs> blobs;  ///< for lanes; set before there are any

  std::atomic<int> entered{0};
  std::atomic<int> lanes{0};
  std::atomic<int> waits{0};
  std::atomic<int> marks{0};
  std::atomic<int> marks_aside{0};
  std::atomic<int> twins{0};
  std::atomic<int> recordings{0};
  std::atomic<int> changed_recordings{0};  ///< made of another one
  std::atomic<int> launches{0}, recorded_conditions{0};
  std::atomic<int> asked_while_recording{0};  ///< for the state of a queue that records

 private:
  unsigned seed_;
};

inline fake_lane::fake_lane(fake_accelerator& device, int number)
    : device_(device), number_(number), blobs_(device.blobs), thread_([this] { run(); }) {}

inline fake_lane::~fake_lane() {
  {
    const std::lock_guard lock(mutex_);
    ending_.store(true);
    queue_.clear();
  }
  more_.notify_one();
}

inline bool fake_lane::ended() const noexcept { return ending_.load() || device_.lost.load(); }

inline void fake_lane::enqueue(std::function<void()> work) {
  if (recording_) return record(std::move(work));
  ++enqueued_;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  more_.notify_one();
}

inline result<void> fake_lane::wait_for(accelerator_lane& other) {
  if (auto well = device_.outcome(device_.fails_to_wait, "wait_for"); !well) return well;
  device_.waits.fetch_add(1);
  follow(static_cast<fake_lane&>(other));
  return {};
}

inline void fake_lane::follow(const fake_lane& other) {
  enqueue([this, done = other.done_, count = other.enqueued_] {
    while (done->load(std::memory_order_acquire) < count && !ended())
      std::this_thread::yield();
  });
}

inline result<void> fake_lane::mark(std::uint64_t* where, std::uint64_t value) {
  if (auto well = device_.outcome(device_.fails_to_mark, "mark"); !well) return well;
  device_.marks.fetch_add(1);
  if (aside_) follow(*aside_);
  store(where, value);
  return {};
}

inline result<void> fake_lane::mark_aside(std::uint64_t* where, std::uint64_t value) {
  if (auto well = device_.outcome(device_.fails_to_mark, "mark_aside"); !well) return well;
  const int before = device_.marks_aside.fetch_add(1);
  if (!aside_) aside_ = std::make_unique<fake_lane>(device_, number_);
  aside_->follow(*this);
  // Extremely late compared with a GPU, so that code that does not wait for it fails.
  const std::chrono::microseconds late(before * 389 % 1'000);
  aside_->enqueue([late] { std::this_thread::sleep_for(late); });
  aside_->store(where, value);
  return {};
}

// NOLINTNEXTLINE(readability-non-const-parameter): the lane's thread writes there
inline void fake_lane::store(std::uint64_t* where, std::uint64_t value) {
  enqueue([this, where, value] {
    if (!ended()) {
      reinterpret_cast<std::atomic<std::uint64_t>*>(where)->store(value, std::memory_order_release);
    }
  });
}

inline result<void> fake_lane::check() {
  if (recording_) device_.asked_while_recording.fetch_add(1);
  return device_.outcome(device_.fails_the_check, "check");
}

}  // namespace troupe::testing_worker

#include "recording/fake_lane_thread.hpp"
#include "recording/fake_recording.hpp"
