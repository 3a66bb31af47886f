#pragma once

#include "unit/worker/fake_accelerator.hpp"
#include "wire/layout.hpp"
#include "wire/reply.hpp"

#include <troupe/plugin/recorded_work.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::wire {

// The plugin for queues, which has none of the library's internals, must load without it: weak.
// NOLINTNEXTLINE(readability-redundant-declaration)
[[gnu::weak]] void write_failure(reply_slot& to, std::uint64_t ticket, const error& failure,
                                 std::span<std::byte> to_text, std::uint32_t heap_place) noexcept;

}  // namespace troupe::wire

// How fake lanes record; `fake_accelerator.hpp` includes it.
namespace troupe::testing_worker {

/// Closures, which any number of launches run.
class fake_lane::recording final : public recorded_work {
 public:
  ~recording() override {
    while (is_running())
      std::this_thread::yield();
  }
  [[nodiscard]] bool is_running() override {
    return running_->load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] std::size_t size() const noexcept override { return work_->size(); }
  void add(std::function<void()> work) { to_.back()->push_back(std::move(work)); }
  void begin_condition(const recorded_condition& c) {
    (void)place_for_failure();
    conditions_.push_back({c, {}});
    for (std::uint64_t b = 0; b < c.bodies; ++b)
      conditions_.back().bodies.push_back(std::make_shared<closures>());
  }
  void begin_body(std::uint64_t number) { to_.push_back(conditions_.back().bodies[number]); }
  void end_body() { to_.pop_back(); }
  void end_condition() {
    add([one = std::move(conditions_.back()), failure = failure_] { one.run(*failure); });
    conditions_.pop_back();
  }
  void keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }
  std::byte* place_for_failure() {
    if (!failure_) failure_ = std::make_shared<wire::reply_slot>();
    return failure_->bytes;
  }
  void launch_on(fake_lane& lane, std::byte* reply) {
    running_->fetch_add(1);
    lane.enqueue([work = work_, failure = failure_, reply,
                  over = std::make_shared<launched>(running_), &lane] {
      if (failure) *failure = {};
      for (const auto& one : *work)
        if (!lane.ended()) one();
      if (!failure || failure->code == 0) return;
      auto& to = *reinterpret_cast<wire::reply_slot*>(reply - offsetof(wire::reply_slot, bytes));
      failure->ticket = to.ticket;
      to = *failure;
    });
  }

 private:
  using closures = std::vector<std::function<void()>>;

  /// Looks at its number when it runs.
  struct condition {
    recorded_condition what;
    std::vector<std::shared_ptr<closures>> bodies;

    [[nodiscard]] std::int64_t value() const {
      const auto read = [&]<class T>(T v) {
        std::memcpy(&v, what.at, sizeof(v));
        return static_cast<std::int64_t>(v);
      };
      if (size_of(what.type) == 1) return read(std::uint8_t{});
      if (size_of(what.type) == 8) return read(std::int64_t{});
      return what.type == dtype::u32 ? read(std::uint32_t{}) : read(std::int32_t{});
    }
    void run_body(std::size_t number) const {
      if (number >= bodies.size()) return;
      for (const auto& one : *bodies[number])
        one();
    }
    void run(wire::reply_slot& failure) const {
      using enum recorded_condition::kind;
      if (what.what == when) return run_body(value() != 0 ? 0 : 1);
      if (what.what == choose) return run_body(static_cast<std::size_t>(value()));
      for (std::uint64_t round = 0; value() != 0; ++round) {
        if (round == what.at_most) {
          return wire::write_failure(
              failure, 0, {.code = errc::numerical, .message = "it still holds after rounds"});
        }
        run_body(0);
      }
    }
  };

  /// Ends with its launch, also if a lost lane drops it.
  struct launched {
    explicit launched(std::shared_ptr<std::atomic<int>> all) : running(std::move(all)) {}
    launched(const launched&) = delete;
    launched& operator=(const launched&) = delete;
    ~launched() { running->fetch_sub(1, std::memory_order_release); }
    std::shared_ptr<std::atomic<int>> running;
  };

  std::shared_ptr<closures> work_ = std::make_shared<closures>();
  std::vector<std::shared_ptr<closures>> to_{work_};
  std::vector<condition> conditions_;
  std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
  std::vector<std::shared_ptr<const void>> kept_;
  std::shared_ptr<wire::reply_slot> failure_;
};

inline void fake_lane::retain(std::shared_ptr<const void> object) {
  if (recording_) recording_->keep(std::move(object));
}

inline void fake_lane::record(std::function<void()> work) { recording_->add(std::move(work)); }

inline accelerator_lane* fake_lane::twin() {
  if (!device_.records.load() || old_twins_.size() == 5) return nullptr;
  if (!twin_) {
    device_.twins.fetch_add(1);
    twin_ = std::make_unique<fake_lane>(device_, number_);
    twin_->is_twin_ = true;
  }
  return twin_.get();
}

inline result<void> fake_lane::begin_recording() {
  recording_ = std::make_unique<recording>();
  is_spoilt_ = false;
  return {};
}

inline result<void> fake_lane::check_recording() {
  if (!is_spoilt_) return {};
  return error{.code = errc::unsupported, .message = "the fake cannot record that"};
}

inline result<std::unique_ptr<recorded_work>> fake_lane::end_recording(
    std::unique_ptr<recorded_work> like) {
  std::unique_ptr<recorded_work> made = std::move(recording_);
  if (is_spoilt_ || device_.fails_to_end_recording.load()) {
    return error{.code = errc::library_error, .message = "the recording is void"};
  }
  if (like && like->size() == made->size()) device_.changed_recordings.fetch_add(1);
  device_.recordings.fetch_add(1);
  return made;
}

inline result<void> fake_lane::begin_condition(const recorded_condition& c) {
  if (!device_.looks_itself.load()) {
    return error{.code = errc::unsupported, .message = "the fake looks at no condition"};
  }
  device_.recorded_conditions.fetch_add(1);
  recording_->begin_condition(c);
  return {};
}
inline result<void> fake_lane::begin_body(std::uint64_t number) {
  recording_->begin_body(number);
  return {};
}
inline result<void> fake_lane::end_body() {
  recording_->end_body();
  return {};
}
inline result<void> fake_lane::end_condition() {
  recording_->end_condition();
  return {};
}
inline result<void> fake_lane::record_store(std::uint64_t* where, std::uint64_t value) {
  record([where, value] { *where = value; });
  return {};
}

inline std::byte* fake_lane::place_for_failure() { return recording_->place_for_failure(); }

inline result<void> fake_lane::launch(recorded_work& work, std::byte* reply) {
  device_.launches.fetch_add(1);
  static_cast<recording&>(work).launch_on(*this, reply);
  return {};
}

}  // namespace troupe::testing_worker
