#pragma once

#include "memory/arena.hpp"
#include "memory/bound_sets.hpp"
#include "memory/taint_book.hpp"

#include <troupe/device/library_actor.hpp>
#include <troupe/lane/mapping.hpp>
#include <troupe/request/request.hpp>
#include <troupe/tensor/buffer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace troupe {

using detail::completion;

/// A mapped tensor runs nothing: its request only keeps its place in the order, for as long as the
/// program keeps the mapping.
[[nodiscard]] inline bool is_mapping(const request_type& type) noexcept {
  return type.id == request_type_of<lane::mapping>().id;
}

/// A request that was running in this many lost workers is not run again.
inline constexpr int poisonous_kills = 2;

/// A tensor of a request in flight; the request keeps it alive.
struct kept_operand {
  detail::buffer_ref buffer;
  access role{};
  footprint where;
};

/// The operands of one request: a few in place, the rest on the heap.
class operand_list {
 public:
  void add(kept_operand operand) {
    if (used_ < inline_.size()) {
      inline_[used_++] = std::move(operand);
    } else {
      more_.push_back(std::move(operand));
    }
  }
  /// Adds a bound set, whose table keeps its tensors.
  void add(std::shared_ptr<const set_use> use) { sets_.push_back(std::move(use)); }
  [[nodiscard]] std::span<const std::shared_ptr<const set_use>> sets() const noexcept {
    return sets_;
  }
  void clear() noexcept {
    if (!sets_.empty()) [[unlikely]]
      sets_.clear();
    for (std::size_t i = 0; i < used_; ++i)
      inline_[i].buffer = {};
    if (used_ == inline_.size()) more_.clear();
    used_ = 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_ + more_.size(); }
  template <class Function>
  void for_each(Function&& function) const {
    for (std::size_t i = 0; i < used_; ++i)
      function(inline_[i]);
    for (const kept_operand& one : more_)
      function(one);
  }

 private:
  std::size_t used_ = 0;  // how many are in `inline_`; `more_` is empty until it is full
  std::vector<std::shared_ptr<const set_use>> sets_;
  std::array<kept_operand, 6> inline_;
  std::vector<kept_operand> more_;
};

/// The effects of lost workers on a request.
struct loss_marks {
  std::uint8_t kills = 0;          ///< workers lost while it was running, without a named culprit
  std::uint8_t outside_kills = 0;  ///< workers killed from outside while it was running
  bool started = false;            ///< when its worker was lost
  bool called = false;             ///< likewise its executor, which may have ended the process
  bool interrupted = false;        ///< by the loss of any worker: its outputs may be half written
  /// The request that was running in a list of requests, see `wire::lane_mark::part`; 0 for none,
  /// and for the last of 65 536. Small, so that all of this is cleared by one store.
  std::uint16_t part = 0;
  /// When the last of the workers that `kills` counts was lost.
  std::chrono::steady_clock::time_point suspected_at{};
};

/// The answer of a request whose slot is still in flight: it may run on, or be passed over. Its
/// outputs are judged once that is known.
struct early_answer {
  std::uint64_t before = 0;  ///< requests with smaller tickets were sent before the answer
  error why;
};

/// The program's record of the request in a slot. The sender writes it before it publishes the
/// request; from then on it belongs to the reactor's role, except `on_its_way`. The fields that
/// every request touches come first, in as few cache lines as possible.
struct alignas(64) record {
  /// How far the program has followed the request. Only the role writes it: a slot that is free, or
  /// that a sender fills, is unseen.
  enum class stage : std::uint8_t {
    unseen,
    in_flight,  ///< walked by the reactor and not completed
    answered,   ///< likewise, but answered early: expired or cancelled, though it may still run
    withdrawn,  ///< answered before the worker in service could run it: it never runs
  };
  enum class trial : std::uint8_t {
    none,
    is_exempt,  ///< from quarantine
    decides,    ///< it was in quarantine, and this run decides
  };

  /// Why its times are taken: its device has a tracer, or it was drawn (`metrics_config::sample`).
  /// `noted` is a bit beside these: its device has a journal.
  enum class timing : std::uint8_t { none, traced, sampled, noted = 4 };

  const request_type* type = nullptr;
  std::uint64_t ticket = 0;
  std::uint64_t place = 0;  ///< in its lane, with the current worker, from 1
  std::int64_t deadline_ns = 0;
  std::int64_t run_limit_ns = 0;
  std::uint64_t identity = 0;       ///< identifies it for the quarantine; 0: not identified
  std::uint32_t taint_changes = 0;  ///< `taint_watch::changes` when its operands were checked
  std::uint8_t lane = 0;
  stage now = stage::unseen;
  trial quarantine = trial::none;
  bool watched = false;  ///< by `taint_watch`: its inputs may turn out to be undefined
  timing timed = timing::none;
  /// Set by the sender from before it checks the flags of the operands until the request has its
  /// place in the order, or is given up. Set with seq_cst, as are the flags and their check: a
  /// thread that sets a flag and then reads this as unset knows that the sender either sees the
  /// flag or has its ticket already. Unset with release.
  std::atomic<bool> on_its_way{false};
  /// How many requests in this slot until one of them is sampled; its own, not the request's.
  std::uint32_t until_sample = 0;
  loss_marks losses;
  std::uint64_t tag = 0;     ///< `request_options::tag`
  std::int64_t sent_ns = 0;  ///< by the steady clock, if it is sampled
  std::optional<arena::piece> heap;
  completion done;
  std::unique_ptr<std::stop_callback<std::function<void()>>> stop;
  operand_list operands;
  std::unique_ptr<const early_answer> early;  ///< until its outputs are judged
  /// When the first of the workers that `losses.outside_kills` counts was lost, if that is not 0.
  std::chrono::steady_clock::time_point first_killed_at{};

  /// For a new request, by its sender: forgets the last one that had the slot.
  void renew(const request_type& what, std::uint8_t in_lane, std::uint64_t of_tag = 0) noexcept {
    type = &what;
    lane = in_lane;
    identity = 0;
    quarantine = trial::none;
    watched = false;
    timed = timing::none;
    losses = {};
    tag = of_tag;
  }
  [[nodiscard]] bool is_sampled() const noexcept {
    return (static_cast<unsigned>(timed) & 3) == static_cast<unsigned>(timing::sampled);
  }
  [[nodiscard]] bool has_times() const noexcept { return (static_cast<unsigned>(timed) & 3) != 0; }
  [[nodiscard]] bool is_noted() const noexcept { return (static_cast<unsigned>(timed) & 4) != 0; }
  void note() noexcept { timed = static_cast<timing>(static_cast<unsigned>(timed) | 4); }
  /// Walked, and its slot is not free yet.
  [[nodiscard]] bool in_flight() const noexcept { return now != stage::unseen; }
  [[nodiscard]] bool answered() const noexcept { return now >= stage::answered; }
  [[nodiscard]] bool withdrawn() const noexcept { return now == stage::withdrawn; }
};

}  // namespace troupe
