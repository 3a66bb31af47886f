#pragma once

#include <troupe/core/future.hpp>
#include <troupe/core/mailbox_options.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct pipeline_config {
  /// Items in the pipeline at once; each has a frame of its own.
  int in_flight = 4;
  /// Items that wait in front of it.
  std::size_t waiting = 0;
  /// How an item is treated for which there is no room. `wait` blocks the thread that pushes.
  overflow when_full = overflow::wait;
};

namespace detail {

/// Items in front of the frames, and the frames that are free.
template <class In, class Out>
class pipeline_flow : public std::enable_shared_from_this<pipeline_flow<In, Out>> {
 public:
  struct item {
    std::uint64_t number = 0;
    std::size_t frame = 0;
    In in;
    promise<Out> sink;
  };

  explicit pipeline_flow(const pipeline_config& config) : config_(config) {
    for (int i = config.in_flight; i-- > 0;)
      free_.push_back(static_cast<std::size_t>(i));
  }
  virtual ~pipeline_flow() = default;

  future<Out> push(In in) {
    promise<Out> sink;
    future<Out> outcome = sink.get_future();
    std::optional<item> begun;
    std::optional<promise<Out>> dropped;
    {
      std::unique_lock lock(mutex_);
      if (config_.when_full == overflow::wait) {
        changed_.wait(lock, [&] { return closed_ || !free_.empty() || has_room(); });
      }
      if (closed_) return make_failed_future<Out>(refusal(errc::cancelled, "it is closed"));
      if (free_.empty() && !has_room()) {
        if (config_.when_full != overflow::drop_oldest || waiting_.empty()) {
          return make_failed_future<Out>(refusal(errc::mailbox_full, "no item can wait"));
        }
        dropped = std::move(waiting_.front().sink);
        waiting_.pop_front();
      }
      waiting_.push_back({0, 0, std::move(in), std::move(sink)});
      begun = take();
    }
    if (dropped) {
      dropped->set_error(refusal(errc::mailbox_full, "later items took this one's place"));
    }
    if (begun) begin(*std::move(begun));
    return outcome;
  }

  future<void> close(bool drops) {
    std::deque<item> dropped;
    future<void> ended;
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (drops) dropped.swap(waiting_);
      promise<void> told;
      ended = told.get_future();
      ended_.push_back(std::move(told));
      idle = is_idle();
    }
    changed_.notify_all();
    for (item& one : dropped)
      one.sink.set_error(refusal(errc::cancelled, "it was closed before this item began"));
    if (idle) tell_the_end();
    return ended;
  }

 protected:
  virtual void begin(item one) = 0;

  /// The frame of an item that has ended is the next one's.
  void release(std::size_t frame) {
    std::optional<item> next;
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(frame);
      next = take();
      idle = closed_ && is_idle();
    }
    changed_.notify_one();
    if (next) begin(*std::move(next));
    if (idle) tell_the_end();
  }

  [[nodiscard]] static error refusal(errc code, const char* why) {
    return {.code = code, .message = std::string("pipeline: ") + why};
  }

 private:
  [[nodiscard]] bool has_room() const { return waiting_.size() < config_.waiting; }
  [[nodiscard]] bool is_idle() const {
    return waiting_.empty() && free_.size() == static_cast<std::size_t>(config_.in_flight);
  }
  std::optional<item> take() {
    if (waiting_.empty() || free_.empty()) return std::nullopt;
    std::optional<item> taken(std::move(waiting_.front()));
    waiting_.pop_front();
    taken->frame = free_.back();
    free_.pop_back();
    taken->number = next_++;
    return taken;
  }
  void tell_the_end() {
    std::vector<promise<void>> told;
    {
      const std::lock_guard lock(mutex_);
      told.swap(ended_);
    }
    for (auto& one : told)
      one.set_value();
  }

  const pipeline_config config_;
  std::mutex mutex_;  // guards what follows; never held while an item runs or is answered
  std::condition_variable changed_;
  std::deque<item> waiting_;
  std::vector<std::size_t> free_;
  std::vector<promise<void>> ended_;
  std::uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace troupe
