#include "worker/queues/lane_queue.hpp"

#include "worker/threads/execution.hpp"

namespace troupe::worker {
namespace {

// A mark costs a busy GPU 2 µs, which is negligible for this many requests; and the rest of the
// lane keeps it busy until the next ones are there.
constexpr std::uint64_t most_per_mark = wire::queue_depth * 3 / 4;
// An accelerator that waits for requests reaches a mark before this many more are enqueued. One
// that does not reach it is busy: it should get fewer marks, which then cost a processor two calls
// more.
constexpr std::uint64_t soon = 8;

// Whether the program must know if this very request has begun. Requests before a call that waits
// get their mark before it: no other thread could write it meanwhile. The parts of requests for
// several devices may always run again, and reply as before.
bool is_told_apart(const job& j, bool alone) noexcept {
  const auto is_part = [&] { return j.lane == wire::world_lane; };
  return alone || (!j.what().repeatable && !is_part()) || j.mark == wire::end_mark::apart ||
         j.held == wire::hold::until_released || j.op == nullptr ||
         (j.op->fails_late && !is_part()) || j.op->effort == effort::blocks_host;
}

}  // namespace

bool is_loss(const result<void>& outcome) noexcept {
  return !outcome && const_cast<result<void>&>(outcome).error().code == errc::device_fault;
}

result<void> lane_queue::submit(job& j, bool alone) {
  const bool told_apart = is_told_apart(j, alone);
  if (told_apart || j.waits.read_before > ordered()) {
    if (auto done = mark(); !done) return done;
  }
  result<void> outcome;
  {
    const operation_turn turn(j);
    set_unmarked(j.place, false);
    answers_.started(j);
    submitted_ = j.place;
    outcome = enqueue(j);
  }
  j.release_request();
  if (is_loss(outcome)) return outcome;
  if (!outcome) {
    // Is it a refusal, or the first report of a fault that another request has caused?
    if (auto well = queue_->check(); !well) return well;
  }
  answers_.write_reply(j, outcome);
  const wire::end_mark wanted = told_apart || !outcome ? wire::end_mark::own : j.mark;
  j.handed_back.store(true, std::memory_order_release);
  if (wanted == wire::end_mark::aside) return mark_aside();
  if (wanted != wire::end_mark::shared) return mark();
  const std::uint64_t sharing = submitted_ - marked_;
  if (sharing >= most_per_mark) return behind_ ? mark_aside() : mark();
  if (sharing == soon) behind_ = answers_.completed(number_) < marked_;
  set_unmarked(submitted_, true);
  return {};
}

result<void> lane_queue::mark() {
  if (ordered() == submitted_) return {};
  auto done = queue_->mark(answers_.mark_of(number_), submitted_);
  if (!done) return done;
  set_unmarked(submitted_, false);
  marked_ = ordered_ = submitted_;
  return {};
}

result<void> lane_queue::mark_aside() {
  set_unmarked(submitted_, true);  // the next request may begin before the mark is written
  auto done = queue_->mark_aside(answers_.mark_of(number_), submitted_);
  if (done) marked_ = submitted_;
  return done;
}

// The place up to which marks are written, or will be before anything more begins.
std::uint64_t lane_queue::ordered() noexcept {
  if (ordered_ != marked_ && answers_.completed(number_) >= marked_) ordered_ = marked_;
  return ordered_;
}

namespace {

result<void> warm_up_one(accelerator_lane& queue, warm_up_lane& work) {
  result<void> outcome;
  work(queue, outcome);
  auto finished = queue.finish();
  return finished ? std::move(outcome) : std::move(finished);
}

}  // namespace

result<void> lane_queue::warm_up(warm_up_lane& work) { return warm_up_one(*queue_, work); }

result<void> lane_queue::warm_up_twin(warm_up_lane& work) {
  accelerator_lane* const twin = queue_->twin();
  return twin != nullptr ? warm_up_one(*twin, work) : result<void>();
}

result<void> lane_queue::wait_for(lane_queue& other) {
  if (auto marked = other.mark(); !marked) return marked;
  return queue_->wait_for(*other.queue_);
}

void lane_queue::set_unmarked(std::uint64_t place, bool unmarked) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << place % wire::queue_depth;
  const std::uint64_t now = unmarked ? unmarked_ | bit : unmarked_ & ~bit;
  if (now == unmarked_) return;
  unmarked_ = now;
  answers_.set_unmarked(number_, now);
}

result<void> lane_queue::enqueue(job& j) {
  if (auto may = may_run(j, requests_); !may) return may;
  if (j.op->fails_late) answers_.prepare_reply(j);
  wire::request_stamps* const stamps = answers_.stamps_for(j);
  if (stamps != nullptr) [[unlikely]] {
    if (auto stamped = queue_->stamp(&stamps->device_begin); !stamped) return stamped;
  }
  queue_->begin_range(j.op->type->name);
  auto outcome = call_executor(j, *queue_, answers_, stamps);
  queue_->end_range();
  if (stamps != nullptr && outcome) [[unlikely]] {
    if (auto stamped = queue_->stamp(&stamps->device_end); !stamped) return stamped;
  }
  return outcome;
}

}  // namespace troupe::worker
