#include "device_simulation.hpp"

#include "device/mailbox/mailbox.hpp"
#include "memory/memory_pool.hpp"
#include "wire/reply.hpp"

#include <troupe/lane/rest.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace troupe::model {
namespace {

const operation_table& operations() {
  static const operation_table table = [] {
    operation_table one;
    one.insert({.type = &request_type_of<use>()});
    one.insert({.type = &request_type_of<lane::rest>()});
    return one;
  }();
  return table;
}

// Zeros that cost nothing before they are touched: most of a segment never is.
void* fresh_pages(std::size_t bytes) {
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

}  // namespace

void simulated_worker::unmapped::operator()(std::byte* p) const noexcept { ::munmap(p, bytes); }

simulated_worker::simulated_worker(const worker_plan& plan, std::uint64_t number,
                                   simulated_environment& environment)
    : incarnation(plan, number),
      environment_(environment),
      pages_(static_cast<std::byte*>(
                 fresh_pages(wire::worker_segment_bytes(plan.requests->capacity()))),
             unmapped{wire::worker_segment_bytes(plan.requests->capacity())}),
      segment_(reinterpret_cast<wire::worker_header*>(pages_.get())),
      replies_(reinterpret_cast<wire::reply_slot*>(segment_ + 1), plan.requests->capacity()),
      requests_(worker::inbox::open(plan.requests->shared(), plan.requests->total_bytes()).value()),
      ranges_{wire::address_range{plan.device_memory->base(), plan.device_memory->bytes()},
              wire::address_range{plan.host_memory->base(), plan.host_memory->bytes()}},
      jobs_(plan.requests->capacity()),
      has_queues_(plan.device_memory->on_device()) {
  environment_.workers.push_back(this);
}

simulated_worker::~simulated_worker() {
  simulated_worker::end();
  std::erase(environment_.workers, this);
}

void simulated_worker::becomes_ready() {
  signs_.has_spoken = true;
  spoken_ = [this] {
    is_ready();
    environment_.told->next_is_ready();
  };
}

void simulated_worker::fails_to_start(error why) {
  signs_.has_spoken = true;
  spoken_ = [this, why = std::move(why)]() mutable {
    environment_.told->next_fails(why.code, environment_.time);
    fail(std::move(why));
  };
}

bool simulated_worker::takes_up() {
  if (!std::exchange(begun_, true)) requests_.begin();
  const std::uint64_t entry = requests_.poll();
  if (entry == 0) return false;
  auto& room = jobs_[wire::ring_entry::slot_of(entry)];
  if (!room) room = std::make_unique<worker::job>();
  worker::job& j = *room;
  requests_.read(entry, operations(), ranges_, j);
  lane_state& lane = lanes_[j.lane];
  j.place = ++lane.admitted;
  hazards_.admit(j.lane, j.place, j.what().operands, j.waits);
  lane.queue.push_back(&j);
  return true;
}

bool simulated_worker::hazards_over(const worker::job& j) const {
  for (std::size_t lane = 0; lane < wire::max_lanes; ++lane) {
    if ((j.waits.lanes >> lane & 1) != 0 && completed_[lane].load() < j.waits.need[lane]) {
      return false;
    }
  }
  return true;
}

std::vector<int> simulated_worker::running() const {
  std::vector<int> all;
  if (stands_still_) return all;
  for (int lane = 0; lane < wire::max_lanes; ++lane) {
    const lane_state& l = lanes_[static_cast<std::size_t>(lane)];
    if (!l.given.empty() && hazards_over(*l.given.front().what)) all.push_back(lane);
  }
  return all;
}

bool simulated_worker::may_begin(const lane_state& lane) const {
  constexpr std::size_t queue_depth = 4;
  if (lane.queue.empty() || lane.given.size() >= (has_queues_ ? queue_depth : 1)) return false;
  const worker::job& j = *lane.queue.front();
  if (j.held == wire::hold::until_released && !requests_.released()) return false;
  if (!has_queues_ && !hazards_over(j)) return false;
  // A queue waits for what other queues do, once they have it.
  for (std::size_t other = 0; other < lanes_.size(); ++other) {
    if ((j.waits.lanes >> other & 1) != 0 && lanes_[other].last_given < j.waits.need[other]) {
      return false;
    }
  }
  const bool alone = requests_.alone(j.slot);
  return std::ranges::none_of(lanes_, [&](const lane_state& l) {
    return std::ranges::any_of(
        l.given, [&](const auto& g) { return alone || requests_.alone(g.what->slot); });
  });
}

std::vector<int> simulated_worker::could_begin() const {
  std::vector<int> all;
  for (int lane = 0; lane < wire::max_lanes; ++lane) {
    if (may_begin(lanes_[static_cast<std::size_t>(lane)])) all.push_back(lane);
  }
  return all;
}

void simulated_worker::begins(int number) {
  lane_state& lane = lanes_[static_cast<std::size_t>(number)];
  worker::job& j = *lane.queue.front();
  lane.queue.pop_front();
  lane.last_given = j.place;
  const auto now_ns = std::chrono::nanoseconds(environment_.time.time_since_epoch()).count();
  std::optional<errc> passes;
  if (j.refused) {
    passes = j.refused->code;
  } else if (requests_.revoked(j.slot)) {
    passes = errc::cancelled;
  } else if (j.deadline_ns != 0 && now_ns >= j.deadline_ns) {
    passes = errc::deadline_exceeded;
  }
  if (passes && !has_queues_) return finish(lane, j, *passes, false);
  if (passes) {
    environment_.told->passes_over(j.ticket);
  } else {
    environment_.told->begins(j.ticket, requests_.alone(j.slot), environment_.time);
  }
  lane.given.push_back({&j, passes});
  segment_->lanes[j.lane].started.store(j.place);
}

void simulated_worker::completes(int number, errc code) {
  lane_state& lane = lanes_[static_cast<std::size_t>(number)];
  const auto one = lane.given.front();
  lane.given.pop_front();
  // The program learns the traces of a failure then at a time that the model does not know.
  if (environment_.told->has_answer(one.what->ticket)) code = errc{};
  finish(lane, *one.what, one.passes.value_or(code), !one.passes);
}

void simulated_worker::finish(lane_state& lane, worker::job& j, errc code, bool had_begun) {
  wire::reply_slot& reply = replies_[j.slot];
  wire::lane_mark& mark = segment_->lanes[j.lane];
  if (code != errc{}) {
    wire::write_failure(reply, j.ticket, {.code = code, .message = "in the simulation"});
    if (!had_begun) reply.code |= wire::not_begun;
  } else if (j.op->type->has_reply()) {
    const auto* request = static_cast<const use*>(j.what().request.get());
    const std::int64_t answer = request->number * 10;
    reply = wire::reply_slot{};
    reply.ticket = j.ticket;
    reply.reply_bytes = sizeof(answer);
    std::memcpy(reply.bytes, &answer, sizeof(answer));
  }
  environment_.told->completes(j.ticket, code);
  mark.replied.store(j.place);
  j.release_request();
  completed_[static_cast<std::size_t>(&lane - lanes_.data())].store(j.place);
  mark.completed.store(j.place);
}

bool simulated_worker::flag_is_set(int lane) const {
  const worker::job& j = *lanes_[static_cast<std::size_t>(lane)].given.front().what;
  return j.refused ||
         *static_cast<const lane::rest*>(j.what().request.get())->until.data<std::uint32_t>() != 0;
}

std::vector<int> simulated_worker::callable() const {
  std::vector<int> all;
  for (int lane = 0; lane < lanes; ++lane) {
    const lane_state& l = lanes_[static_cast<std::size_t>(lane)];
    if (!l.given.empty() && !l.given.back().passes) all.push_back(lane);
  }
  return all;
}

void simulated_worker::calls(int number) {
  const worker::job& j = *lanes_[static_cast<std::size_t>(number)].given.back().what;
  segment_->lanes[j.lane].calls.store(j.ticket + 1);
  called_.push_back(j.ticket);
}

void simulated_worker::ends(os::exit_report how, std::optional<std::uint32_t> reported_signal,
                            std::optional<int> named_lane, bool from_outside, bool socket_first) {
  wire::crash_report& crash = segment_->crash;
  std::optional<std::uint64_t> named;
  if (reported_signal) {
    // A skipped request does not run, so that no thread crashes in it.
    if (named_lane && !lanes_[static_cast<std::size_t>(*named_lane)].given.front().passes) {
      named = lanes_[static_cast<std::size_t>(*named_lane)].given.front().what->ticket;
      crash.has_ticket = 1;
      crash.ticket = *named;
    }
    crash.from_outside = from_outside ? 1 : 0;
    crash.signal.store(*reported_signal);
  }
  // A signal from outside was not aimed at a request: none is to blame.
  named_ = from_outside ? std::nullopt : named;
  from_outside_ = from_outside;
  if (!how.signalled && called_.size() == 1) named_ = called_.front();
  if (named_ || from_outside) called_.clear();
  report_ = how;
  if (socket_first) {
    signs_.has_spoken = true;
    spoken_ = [this] { socket_open_ = false; };
  } else {
    signs_.ended = true;
  }
}

void simulated_worker::on_control() {
  if (spoken_) std::exchange(spoken_, {})();
}

void simulated_worker::ping() {
  note_ping();
  if (silent_) return;
  signs_.has_spoken = true;
  spoken_ = [this] { note_pong(); };
}

void simulated_worker::loses_its_context() {
  context_lost_ = true;
  signs_.has_spoken = true;
  spoken_ = [this] {
    has_said_so_ = true;
    queues_fail({.code = errc::device_fault, .message = "in the simulation"});
  };
}

device_model::sign simulated_worker::sign() const {
  using enum device_model::sign::sort;
  // One that has said why it fails, and then leaves, has said it.
  if (report_ && (report_->signalled || !has_said_so_)) {
    return {.what = end, .named = named_, .called = called_, .from_outside = from_outside_};
  }
  if (context_lost_) return {.what = context_lost};
  return {.what = silent_ ? silence : hang};
}

void simulated_worker::kill() noexcept {
  if (is_over_ || !serves()) return;
  killed_ = true;
  stands_still_ = environment_.told->worker_is_killed(sign(), environment_.time);
}

os::exit_report simulated_worker::end() noexcept {
  if (!is_over_) {
    const bool served = serves();
    is_over_ = true;
    if (killed_) {
      environment_.told->worker_is_reaped(environment_.time);
    } else if (served) {
      environment_.told->worker_is_lost(sign(), environment_.time);
    }
  }
  return report_.value_or(os::exit_report{.signalled = true, .code = SIGKILL});
}

worker_events simulated_worker::take_events() noexcept { return std::exchange(signs_, {}); }

result<std::unique_ptr<incarnation>> simulated_environment::start_worker(
    const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>&) {
  if (before_start) before_start();
  told->worker_starts(time);
  if (auto why = std::exchange(next_start_fails, std::nullopt)) {
    told->next_fails(why->code, time);
    return *std::move(why);
  }
  return std::unique_ptr<incarnation>(std::make_unique<simulated_worker>(plan, number, *this));
}

simulated_worker* simulated_environment::serving() const {
  const auto found = std::ranges::find_if(
      workers, [](const simulated_worker* w) { return w->serves() && !w->ended(); });
  return found == workers.end() ? nullptr : *found;
}

simulated_worker* simulated_environment::next() const {
  const auto found = std::ranges::find_if(workers, [](const simulated_worker* w) {
    return !w->serves() && !w->ended() && !w->is_draining() &&
           w->where() == incarnation::stage::starting;
  });
  return found == workers.end() ? nullptr : *found;
}

simulated_worker* simulated_environment::draining() const {
  const auto found =
      std::ranges::find_if(workers, [](const simulated_worker* w) { return w->is_draining(); });
  return found == workers.end() ? nullptr : *found;
}

}  // namespace troupe::model
