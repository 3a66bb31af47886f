#include "worker/queues/stream_lanes.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

// Chooses the thread that enqueues a request: the one that reads the mailbox, one that helps it, or
// its lane's own.
namespace troupe::worker {
namespace {

using namespace std::chrono_literals;

// A hand-over to a sleeping thread costs some 50 us. After 5 ms that is one percent of the time
// between two calls, as for the reader. With few processors a spinning thread slows down others.
submitter_duties of_one_lane() noexcept {
  const bool many = std::thread::hardware_concurrency() >= 4;
  return {.lanes = 1, .spins = many ? 5'000us : 50us};
}

}  // namespace

// True once this thread owns the lane's queue.
bool stream_lanes::take_back(lane& l) noexcept {
  if (l.with == nullptr) return true;
  l.wanted_back = l.queue->given_back() != l.given;
  if (!l.wanted_back) l.with = nullptr;
  return l.with == nullptr;
}

// An error of the result is the loss of the context; a failure of the request is its answer.
result<void> stream_lanes::submit(job& j) {
  lane& to = lanes_[j.lane];
  if (!to.queue) {
    if (auto made = make_queue(j.lane); !made) {
      made.error().code = errc::device_fault;
      return made;
    }
  }
  if (is_over(j.lane, to.given)) to.moved = clock::now();
  const bool alone = parts_.requests.alone(j.slot);
  alone_in_flight_ = alone;
  if (next_alone_ == &j) next_alone_ = nullptr;
  if (j.blocks_host()) return submit_apart(j, to, alone);
  if (give_away(j, to)) return {};
  return submit_here(j, to, alone);
}

result<void> stream_lanes::submit_here(job& j, lane& to, bool alone) {
  to.given = j.place;
  busy_lanes_ |= 1u << j.lane;
  own_lane_ = j.lane;
  if (auto ready = prepare(j, to); !ready) {
    if (is_loss(ready)) return ready;
    j.refused = std::move(ready).error();
  }
  auto done = to.queue->submit(j, alone);
  const std::uint32_t bit = 1u << j.lane;
  unmarked_lanes_ = to.queue->unmarked() ? unmarked_lanes_ | bit : unmarked_lanes_ & ~bit;
  return done;
}

// Runs on the lane's own thread, which may own the queue already. The call's dependencies in other
// lanes are enqueued, see `may_submit`; so its queue only has to wait for them. This thread owns
// those lanes, so it arranges that here.
result<void> stream_lanes::submit_apart(job& j, lane& to, bool alone) {
  if (to.with == nullptr) {
    auto ready = prepare(j, to);
    if (is_loss(ready)) return ready;
    if (ready && to.own == nullptr) ready = make_own_thread(to);
    if (!ready) {
      j.refused = std::move(ready).error();
      return submit_here(j, to, alone);  // no executor is called
    }
    to.with = to.own;
    unmarked_lanes_ &= ~(1u << j.lane);
  }
  to.given = j.place;
  busy_lanes_ |= 1u << j.lane;
  to.with->give(*to.queue, j, alone);
  return {};
}

result<void> stream_lanes::make_own_thread(lane& of) {
  try {
    own_threads_.push_back(
        std::make_unique<submitter>(parts_.device, parts_.in_process, of_one_lane()));
  } catch (const std::exception& thrown) {
    return error{.code = errc::out_of_memory,
                 .message = std::string("no thread for a call that waits: ") + thrown.what()};
  }
  of.own = own_threads_.back().get();
  return {};
}

// Whether the owner of the lane's queue may enqueue this job, too.
bool stream_lanes::may_be_given(const job& j, const lane& to) const noexcept {
  if (to.wanted_back || !concerns_its_lane_only(j)) return false;
  return !j.blocks_host() || to.with == to.own;
}

std::optional<error> stream_lanes::take_loss() {
  for (const auto* const threads : {&submitters_, &own_threads_}) {
    for (const auto& one : *threads) {
      if (auto loss = one->take_loss()) return loss;
    }
  }
  return std::nullopt;
}

// True if another thread enqueues the job: it owns the lane already, or should, because this thread
// is busy with a lane of its own. (Keeping no lane was measured, and is slower.)
bool stream_lanes::give_away(job& j, lane& to) {
  if (to.with == nullptr && submitters_.empty()) return false;
  if (!concerns_its_lane_only(j)) return false;
  const bool more = batch_left_ > 0 || parts_.requests.has_more();
  if (to.with == nullptr) {
    const auto busy_elsewhere = [&] {
      return own_lane_ != j.lane && !is_over(own_lane_, lanes_[own_lane_].given);
    };
    if (!more || !busy_elsewhere()) return false;
    // A program that has seen the end of one lane's work begins another's before the next look.
    look_at_marks();
    if (!busy_elsewhere()) return false;
    to.with = &idlest_submitter();
    unmarked_lanes_ &= ~(1u << j.lane);
  } else if (!more && is_over(j.lane, to.given) && take_back(to)) {
    return false;  // nothing else to do: enqueue it here, which is sooner
  }
  to.given = j.place;
  busy_lanes_ |= 1u << j.lane;
  to.with->give(*to.queue, j);
  return true;
}

// The submitter with the fewest lanes. Lanes come and go with the load, and busy ones stay with
// their thread: a round-robin choice put all of them on one.
submitter& stream_lanes::idlest_submitter() const noexcept {
  const auto lanes_of = [&](const std::unique_ptr<submitter>& one) {
    return std::ranges::count(lanes_, one.get(), &lane::with);
  };
  return **std::ranges::min_element(submitters_, {}, lanes_of);
}

bool stream_lanes::concerns_its_lane_only(const job& j) const noexcept {
  if (j.refused || j.held != wire::hold::none || parts_.requests.alone(j.slot)) return false;
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (!is_over(other, j.waits.need[other])) return false;
  }
  return true;
}

// The resources outside its lane that a job needs.
result<void> stream_lanes::prepare(job& j, lane& to) {
  if (j.refused) return {};
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (is_over(other, j.waits.need[other])) continue;
    unmarked_lanes_ &= ~(1u << other);
    if (auto waits = to.queue->wait_for(*lanes_[other].queue); !waits) return waits;
  }
  return {};
}

}  // namespace troupe::worker
