#include "core/system_core.hpp"

#include "core/ambient.hpp"
#include "core/dispatch/pinned_dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <thread>

namespace troupe::detail {
namespace {

class root_actor final : public actor {
 public:
  explicit root_actor(troupe::supervision s) : supervision_(s) {}

 protected:
  troupe::supervision supervise() const override { return supervision_; }

 private:
  troupe::supervision supervision_;
};

}  // namespace

system_core::system_core(system_config config, std::shared_ptr<timer_service> timers,
                         std::shared_ptr<turn_dispatcher> pool)
    : config_(std::move(config)), timers_(std::move(timers)), pool_(std::move(pool)) {}

void system_core::open() {
  auto* cell = new actor_cell(shared_from_this(), nullptr,
                              factory_of<root_actor>(config_.supervision), {}, {});
  root_ = any_actor_ref(*cell);
  cell->release_cell();
  cell->begin();
}

std::shared_ptr<turn_dispatcher> system_core::dispatcher_for(const spawn_options& options) {
  if (options.run_by == dispatcher::pool || pool_->runs_everything()) return pool_;
  const std::lock_guard lock(mutex_);
  // Threads whose actor has stopped are joined here, so that they do not accumulate.
  std::erase_if(pinned_, [](const auto& d) { return d->join_if_finished(); });
  return pinned_.emplace_back(std::make_shared<pinned_dispatcher>(config_.throughput));
}

future<void> system_core::shutdown(std::chrono::nanoseconds timeout, completion_driver* driver) {
  promise<void> source(driver);
  future<void> done = source.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) {
      source.set_value();
      return done;
    }
    stopping_.push_back(std::move(source));
    if (std::exchange(shutting_down_, true)) return done;
    timeout_alarm_ =
        timers_->add(detail::deadline_after(timers_->now(), timeout), [weak = weak_from_this()] {
          if (const auto core = weak.lock()) core->force_stop();
        });
  }
  root().settle(std::make_shared<const settling>(shared_from_this()));
  return done;
}

void system_core::settled() noexcept { root().stop_after_mailbox(); }

void system_core::force_stop() noexcept {
  std::int64_t unhandled = 0;
  std::int64_t unanswered = 0;
  for (const actor_status& one : actors()) {
    unhandled += one.mailbox;
    unanswered += one.unfinished;
  }
  std::vector<promise<void>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    is_forced_.store(true, std::memory_order_relaxed);
    root().stop_now();
    waiting = std::move(stopping_);
    stopping_.clear();
  }
  const error late{.code = errc::timed_out,
                   .message = fmt::format("the actors were stopped before they were done: {} "
                                          "messages waited to be handled, {} for their replies",
                                          unhandled, unanswered)};
  for (auto& p : waiting)
    p.set_error(late);
}

void system_core::root_stopped() noexcept {
  std::vector<std::pair<std::string, std::shared_ptr<system_service>>> services;
  {
    const std::lock_guard lock(mutex_);
    services_end_ = true;
    services = std::move(services_);
    services_.clear();
  }
  for (auto it = services.rbegin(); it != services.rend(); ++it)
    it->second->stop();
  std::vector<promise<void>> waiting;
  timer_id alarm{};
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    waiting = std::move(stopping_);
    stopping_.clear();
    alarm = timeout_alarm_;
  }
  timers_->cancel(alarm);
  for (auto& p : waiting)
    p.set_value();
}

std::vector<actor_status> system_core::actors() const {
  std::vector<actor_status> all;
  std::vector<any_actor_ref> next = root().children();
  std::ranges::reverse(next);  // the last is handled first
  while (!next.empty()) {
    const any_actor_ref one = std::move(next.back());
    next.pop_back();
    auto status = one.cell().status();
    if (!status) continue;
    all.push_back(*std::move(status));
    const auto children = one.cell().children();
    next.insert(next.end(), children.rbegin(), children.rend());
  }
  return all;
}

void system_core::close() noexcept {
  if (!shutdown(config_.drain, nullptr).wait_for(config_.drain)) force_stop();
  // The future may be ready while handlers still run; the threads end after them.
  shutdown(config_.drain, nullptr).wait();
  pool_->join();
  std::vector<std::shared_ptr<pinned_dispatcher>> pinned;
  {
    const std::lock_guard lock(mutex_);
    pinned = std::move(pinned_);
  }
  for (auto& d : pinned)
    d->join();
  root_ = {};  // it refers to this core
}

void system_core::close_elsewhere(std::shared_ptr<system_core> core) noexcept {
  try {
    std::thread([core] { core->close(); }).detach();
  } catch (const std::system_error&) {
    std::fputs(
        "troupe: a system that is destroyed in one of its own threads is ended by another one, and "
        "none can be started: its actors and devices are left as they are\n",
        stderr);
    [[maybe_unused]] const auto* for_good =
        std::make_unique<std::shared_ptr<system_core>>(std::move(core)).release();
  }
}

bool system_core::has_this_thread() noexcept {
  if (ambient.cell != nullptr && &ambient.cell->core() == this) return true;
  if (pool_->has_this_thread()) return true;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(pinned_, [](const auto& d) { return d->has_this_thread(); });
}

void system_core::dead(std::string_view message, const actor_cell& target, errc reason) noexcept {
  dead_letters_.fetch_add(1, std::memory_order_relaxed);
  // Sending to a stopped actor from a subscriber would be reported again, without end.
  static constinit thread_local bool tells = false;
  if (tells) return;
  std::vector<std::shared_ptr<unique_function<void(const dead_letter&)>>> subscribers;
  {
    const std::lock_guard lock(subscribers_mutex_);
    subscribers = subscribers_;
  }
  if (subscribers.empty()) return;
  const std::string path = target.path();
  const dead_letter letter{message, target.id(), path, reason};
  tells = true;
  for (const auto& s : subscribers) {
    try {
      (*s)(letter);
    } catch (...) {
      // As with a continuation whose outcome is ignored: the sender and the others continue.
    }
  }
  tells = false;
}

void system_core::on_dead_letter(unique_function<void(const dead_letter&)> subscriber) {
  if (!subscriber) {
    throw failure({.code = errc::invalid_argument,
                   .message = "on_dead_letter: the subscriber is an empty function"});
  }
  const std::lock_guard lock(subscribers_mutex_);
  subscribers_.push_back(
      std::make_shared<unique_function<void(const dead_letter&)>>(std::move(subscriber)));
}

std::shared_ptr<system_service> system_core::service(
    std::string_view key, unique_function<std::shared_ptr<system_service>()> make) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(services_.begin(), services_.end(),
                               [&](const auto& s) { return s.first == key; });
  if (at != services_.end()) return at->second;
  if (services_end_) return nullptr;
  return services_.emplace_back(std::string(key), make()).second;
}

double system_core::jitter() {
  const std::lock_guard lock(mutex_);
  return std::uniform_real_distribution<double>(-1, 1)(random_);
}

}  // namespace troupe::detail
