#include "device/local/local_device.hpp"
#include "device_simulation.hpp"
#include "model/schedules.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <stop_token>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<memory_pool> host_memory() {
  static const std::shared_ptr<memory_pool> pool =
      memory_pool::create(
          {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
          .value();
  return pool;
}

// A device with simulated workers, and a model of it, which draw their fates from a seed.
class device_schedule {
 public:
  device_schedule(std::uint64_t seed, bool show) : environment_(seed), show_(show) {
    config_.backend = backend_kind::cpu;
    config_.mailbox_capacity = static_cast<std::uint32_t>(between(4, 16));
    config_.mailbox_bytes = 4096;
    config_.memory_limit_bytes = 1 << 20;
    config_.standby = once_in(2);
    config_.worker_path = "simulated";
    config_.restarts = {.restarts = between(0, 6), .window = 20ms * between(1, 30)};
    config_.backoff = {.initial = once_in(2) ? 0ms : 5ms * between(1, 6),
                       .longest = 5ms * between(1, 20),
                       .factor = once_in(3) ? 1.0 : 2.0,
                       .jitter = 0};
    if (once_in(2)) config_.run_limit = 20ms * between(1, 30);
    config_.quarantine = once_in(8) ? 0ms : 20ms * between(1, 20);
    const bool own_memory = once_in(2);
    note(
        "{}{} slots, standby {}, run limit {} ms, budget {} in {} ms, backoff {} to {} ms, times "
        "{}",
        own_memory ? "memory of its own, " : "", config_.mailbox_capacity, config_.standby,
        config_.run_limit / 1ms, config_.restarts.restarts, config_.restarts.window / 1ms,
        config_.backoff.initial / 1ms, config_.backoff.longest / 1ms, config_.backoff.factor);
    model_ = std::make_unique<device_model>(device_model::limits{
        config_.restarts, config_.backoff, environment_.time, own_memory, config_.quarantine});
    environment_.told = model_.get();
    chosen_backend backend{.plugin = "simulated", .description = {.name = "simulated"}};
    if (own_memory) {
      backend.source = std::make_shared<simulated_source>(once_in(5));
      backend.description = backend.source->description();
      config_.memory_limit_bytes = 64 << 20;
    }
    core_ = local_device::create_with(std::move(backend), 0, config_, host_memory(), environment_)
                .value();
    environment_.before_start = [this] { see_activation(); };
    for (any_tensor& b : buffers_) {
      b = any_tensor::owned(core_->allocate(memory_space::device, 4096).value(), dtype::u8, {4096});
    }
  }

  std::string run() {
    const int steps = between(40, 240);
    for (int i = 0; i < steps && model_->wrong().empty(); ++i)
      step();
    if (once_in(4)) stop();
    settle();
    if (model_->wrong().empty() && !model_->all_answered()) return "a request has no answer\n";
    const std::string wrong = model_->wrong();
    model_->stops(errc::device_stopped);
    core_.reset();
    return wrong;
  }

  [[nodiscard]] const device_model& model() const { return *model_; }

 private:
  int below(int n) {
    return static_cast<int>(environment_.random() % static_cast<std::uint64_t>(n));
  }
  int between(int from, int to) { return from + below(to - from + 1); }
  bool once_in(int n) { return below(n) == 0; }
  template <class... Parts>
  void note(fmt::format_string<Parts...> what, Parts&&... parts) {
    if (!show_) return;
    const auto ms = std::chrono::duration<double, std::milli>(environment_.time.time_since_epoch());
    std::cout << fmt::format("{:>10.3f} ms  ", ms.count() - 3.6e6)
              << fmt::format(what, std::forward<Parts>(parts)...) << '\n';
  }

  void step() {
    const int n = below(100);
    if (n < 20) {
      send();
    } else if (n < 64) {
      work();
    } else if (n < 76) {
      turn();
    } else if (n < 82) {
      environment_.time += once_in(12) ? 100ms * between(1, 14) : 1ms * between(1, 30);
    } else if (n < 91) {
      next_worker();
    } else if (n < 95) {
      lose_worker();
    } else if (n < 97) {
      cancel();
    } else {
      core_->completions().try_poll();
    }
  }

  place some_place() {
    const int begin = below(cells);
    return {below(buffers), begin, between(begin + 1, cells)};
  }

  void send() {
    use_plan plan;
    if (!guilty_.empty() && once_in(2)) {
      plan = guilty_[static_cast<std::size_t>(below(static_cast<int>(guilty_.size())))];
    } else if (!sent_.empty() && once_in(8)) {
      plan = sent_[static_cast<std::size_t>(below(static_cast<int>(sent_.size())))];
    } else {
      plan.number = static_cast<std::int64_t>(sent_.size());
      plan.lane = below(lanes);
      for (int i = below(3); i > 0; --i)
        plan.reads.push_back(some_place());
      for (int i = below(3); i > 0; --i)
        plan.writes.push_back(some_place());
      // No request both overwrites a place and updates it: validation would refuse that.
      const place updated = some_place();
      const bool overlaps =
          std::ranges::any_of(plan.writes, [&](const place& w) { return w.overlaps(updated); });
      if (once_in(3) && !overlaps) plan.updates.push_back(updated);
    }
    const int id = static_cast<int>(sent_.size());
    sent_.push_back(plan);
    stops_.emplace_back();
    use request{.number = plan.number};
    const auto add = [&](std::vector<any_tensor>& list, const std::vector<place>& places) {
      for (const place& p : places) {
        list.push_back(buffers_[static_cast<std::size_t>(p.buffer)]
                           .slice(0, std::int64_t{p.begin} * 1024, std::int64_t{p.end} * 1024)
                           .value());
      }
    };
    add(request.reads, plan.reads);
    add(request.writes, plan.writes);
    add(request.updates, plan.updates);
    request_options options;
    device_model::time_limits within{.deadline = {}, .run = config_.run_limit};
    if (once_in(4)) {
      options.deadline = 5ms * between(1, 30);
      within.deadline = environment_.time + *options.deadline;
    }
    if (once_in(4)) within.run = *(options.run_limit = 5ms * between(1, 30));
    if (once_in(3)) options.stop = stops_.back().get_token();
    model_->sends(id, plan, within);
    const auto answer = [this, id, number = plan.number](const std::byte* reply, error* failure) {
      see_activation();
      if (failure != nullptr && failure->code == errc::device_fault) {
        guilty_.push_back(sent_[static_cast<std::size_t>(id)]);
      }
      note("{} is answered {}", id, failure != nullptr ? failure->to_string() : "well");
      std::int64_t value = 0;
      if (failure == nullptr) std::memcpy(&value, reply, sizeof(value));
      // Another one's answer is no answer.
      const errc code = failure != nullptr     ? failure->code
                        : value == number * 10 ? errc{}
                                               : errc::protocol_violation;
      model_->is_answered(id, code, environment_.time);
    };
    const bool taken = core_
                           ->send(request_type_of<use>(), &request, options, answer,
                                  {.lane = static_cast<std::uint8_t>(plan.lane)})
                           .has_value();
    note("{} is {}: {}", id, taken ? "sent" : "refused", text_of(plan));
    if (taken) model_->is_sent(id, tickets_++, environment_.time);
  }

  static std::string text_of(const use_plan& p) {
    std::string text = fmt::format("number {} lane {}", p.number, p.lane);
    const auto add = [&](std::string_view role, const std::vector<place>& places) {
      for (const place& one : places)
        text += fmt::format(" {} {}[{},{})", role, one.buffer, one.begin, one.end);
    };
    add("reads", p.reads);
    add("writes", p.writes);
    add("updates", p.updates);
    return text;
  }

  // One thing that a worker does by itself.
  void work() {
    simulated_worker* w = environment_.serving();
    if (simulated_worker* late = environment_.draining(); late != nullptr && once_in(3)) {
      // The requests in its queues.
      const std::vector<int> left = late->running();
      if (left.empty() || once_in(3)) {
        note("worker {} can be reaped", late->number());
        return late->can_be_reaped();
      }
      note("worker {} completes one after its end", late->number());
      return late->completes(left.front(), once_in(8) ? errc::numerical : errc{});
    }
    if (w == nullptr || w->silent()) return;
    const std::vector<int> could = w->could_begin();
    const std::vector<int> running = w->running();
    const auto one_of = [&](const std::vector<int>& some) {
      return some[static_cast<std::size_t>(below(static_cast<int>(some.size())))];
    };
    switch (below(5)) {
      case 0:
      case 1:
        if (w->takes_up()) note("worker {} takes one up", w->number());
        return;
      case 2:
      case 3:
        if (could.empty()) return;
        note("worker {} begins in one of {} lanes", w->number(), could.size());
        w->begins(one_of(could));
        return;
      default:
        if (running.empty()) return;
        w->completes(one_of(running), once_in(8) ? errc::numerical : errc{});
        note("worker {} completes one", w->number());
    }
  }

  void turn() {
    note("turn");
    core_->supervision().take_turn();
    see_activation();
    if (show_) {
      const auto fault = core_->supervision().health().last_fault;
      if (fault && fault->message != last_fault_) {
        last_fault_ = fault->message;
        note("the last fault: {}", last_fault_);
      }
    }
    core_->completions().try_poll();
    model_->turn_is_over(environment_.time, core_->supervision().next_turn());
    if (core_->supervision().replayed() != model_->run_again()) {
      note("run again: {}, and {} by the model", core_->supervision().replayed(),
           model_->run_again());
    }
  }

  void see_activation() {
    if (!core_ || core_->supervision().generation() == generation_) return;
    generation_ = core_->supervision().generation();
    note("generation {}", generation_);
    model_->is_activated(environment_.time);
  }

  void next_worker() {
    if (once_in(6)) environment_.next_start_fails = some_failure();
    simulated_worker* w = environment_.next();
    if (w == nullptr) return;
    if (once_in(6)) {
      note("worker {} fails to start", w->number());
      w->fails_to_start(some_failure());
    } else {
      note("worker {} is ready", w->number());
      w->becomes_ready();
    }
  }
  error some_failure() {
    const int n = below(12);
    return {.code = n == 0  ? errc::library_missing
                    : n < 7 ? errc::device_unavailable
                            : errc::system_error,
            .message = "in the simulation"};
  }

  void lose_worker() {
    simulated_worker* w = environment_.serving();
    if (w == nullptr) return;
    const std::vector<int> running = w->running();
    const bool socket_first = once_in(4);
    note("worker {} is lost", w->number());
    const int how = below(9);
    switch (how) {
      case 0:
        return w->falls_silent();
      case 5:
      case 6:
        return w->loses_its_context();
      default:
        break;
    }
    for (const int lane : w->callable()) {
      if (!once_in(3)) continue;
      note("in the code of the last one in lane {}", lane);
      w->calls(lane);
    }
    switch (how) {
      case 1:
        return w->ends({.signalled = true, .code = SIGKILL}, {}, {}, true, socket_first);
      case 2:
        return w->ends({.signalled = true, .code = SIGTERM}, SIGTERM, {}, true, socket_first);
      case 3:
        return w->ends({.signalled = false, .code = 3}, {}, {}, false, socket_first);
      case 4:
        return w->ends({.signalled = true, .code = SIGSEGV}, {}, {}, false, socket_first);
      default: {
        std::optional<int> named;
        if (!running.empty()) {
          named = running[static_cast<std::size_t>(below(static_cast<int>(running.size())))];
        }
        w->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, named, false, socket_first);
      }
    }
  }

  void cancel() {
    if (stops_.empty()) return;
    const int id = below(static_cast<int>(stops_.size()));
    note("{} is cancelled", id);
    model_->cancels(id);
    stops_[static_cast<std::size_t>(id)].request_stop();
  }

  void stop() {
    note("stop");
    model_->stops(errc::device_stopped);
    core_->supervision().stop({.code = errc::device_stopped, .message = "told to"});
  }

  // However it went, it ends well.
  void settle() {
    for (int round = 0; round < 400 && model_->wrong().empty(); ++round) {
      turn();
      if (model_->all_answered()) return;
      if (simulated_worker* w = environment_.next()) w->becomes_ready();
      if (simulated_worker* w = environment_.draining()) w->can_be_reaped();
      if (simulated_worker* w = environment_.serving(); w != nullptr && !w->silent()) {
        while (w->takes_up()) {
        }
        for (auto running = w->running(); !running.empty(); running = w->running())
          w->completes(running.front(), errc{});
        for (auto could = w->could_begin(); !could.empty(); could = w->could_begin())
          w->begins(could.front());
      }
      environment_.time += 10ms;
    }
  }

  simulated_environment environment_;
  bool show_;
  device_config config_;
  std::unique_ptr<device_model> model_;
  std::shared_ptr<local_device> core_;
  std::array<any_tensor, buffers> buffers_;
  std::vector<use_plan> sent_;
  std::vector<use_plan> guilty_;
  std::deque<std::stop_source> stops_;
  std::uint64_t tickets_ = 0;
  std::uint64_t generation_ = 0;
  std::string last_fault_;
};

TEST(DeviceSchedules, AgreeWithTheModel) {
  run_schedules(10'000,
                [](std::uint64_t seed, bool show) { return device_schedule(seed, show).run(); });
}

// Schedules reach the situations that they are for, and often.
TEST(DeviceSchedules, ReachWhatTheyAreFor) {
  std::map<errc, int> ends;
  std::uint64_t run_again = 0;
  int silent = 0;
  for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
    device_schedule s(seed, false);
    ASSERT_EQ(s.run(), "");
    for (const auto& [code, count] : s.model().ends())
      ends[code] += count;
    run_again += s.model().run_again();
    silent += s.model().silent_losses();
  }
  for (const errc code :
       {errc{}, errc::numerical, errc::device_fault, errc::aborted, errc::poisonous,
        errc::tainted_buffer, errc::deadline_exceeded, errc::cancelled, errc::mailbox_full,
        errc::device_stopped, errc::device_unavailable, errc::library_missing}) {
    EXPECT_GT(ends[code], 20) << to_string(code);
  }
  EXPECT_GT(run_again, 100u);
  EXPECT_GT(silent, 20);
}

}  // namespace
}  // namespace troupe::model
