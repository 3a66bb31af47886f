#include "core/actor/actor_cell.hpp"
#include "core/dispatch/pool_dispatcher.hpp"
#include "core/system_core.hpp"

#include <troupe/core/system.hpp>

namespace troupe {

system_service::~system_service() = default;

namespace {

std::shared_ptr<detail::system_core> make_core(system_config config) {
  std::shared_ptr<timer_service> timers = timer_service::of_process();
  // Restarts and the shutdown need it, but cannot report a failure. Before the pool, which would
  // have to be ended again.
  timers->start();
  auto pool = std::make_shared<detail::pool_dispatcher>(config.threads, config.throughput);
  return std::make_shared<detail::system_core>(std::move(config), std::move(timers),
                                               std::move(pool));
}

}  // namespace

system::system(system_config config) : system(make_core(std::move(config))) {}

system::system(std::shared_ptr<detail::system_core> core) noexcept : core_(std::move(core)) {
  core_->set_owner(this);
  core_->open();
}

system::~system() {
  if (core_->is_copy()) {
    // A forked process cannot end the system's threads.
    [[maybe_unused]] const auto* for_good =
        std::make_unique<std::shared_ptr<detail::system_core>>(std::move(core_)).release();
    return;
  }
  if (core_->has_this_thread()) {
    detail::system_core::close_elsewhere(std::move(core_));
  } else {
    core_->close();
  }
}

detail::actor_cell& system::root() const noexcept { return core_->root(); }

future<void> system::shutdown(std::chrono::nanoseconds timeout) {
  return core_->shutdown(timeout, nullptr);
}

void system::on_dead_letter(unique_function<void(const dead_letter&)> subscriber) {
  core_->on_dead_letter(std::move(subscriber));
}

std::uint64_t system::dead_letter_count() const noexcept { return core_->dead_letter_count(); }

std::vector<actor_status> system::actors() const { return core_->actors(); }

result<void> system::register_as(std::string name, const any_actor_ref& actor) {
  return core_->names().add(std::move(name), actor);
}

result<any_actor_ref> system::find_any(std::string_view name) const {
  return core_->names().find(name);
}

bool system::forget(std::string_view name) { return core_->names().forget(name); }

std::shared_ptr<system_service> system::service(
    std::string_view key, unique_function<std::shared_ptr<system_service>()> make) {
  return core_->service(key, std::move(make));
}

std::shared_ptr<timer_service> system::timers() const { return core_->timers(); }

const log_hook& system::log() const noexcept { return core_->config().log; }

}  // namespace troupe
