#include "telemetry/event_courier.hpp"

#include "os/thread.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace troupe {
namespace {

void log(const log_hook& hook, const device_event& e) noexcept {
  try {
    const std::string source = fmt::format("device {}", e.device);
    const std::string event = e.to_string();
    const error none;
    write_log(hook, {.level = level_of(e.what),
                     .source = source,
                     .event = event,
                     .reason = e.why ? *e.why : none,
                     .of_device = &e});
  } catch (const std::bad_alloc&) {
    // The journal still has it.
  }
}

}  // namespace

event_courier::event_courier(log_hook hook) : parts_(std::make_shared<parts>()) {
  parts_->hook = std::move(hook);
  try {
    thread_ = os::start_thread([p = parts_] {
      ::prctl(PR_SET_NAME, "troupe-log");
      deliver(*p);
    });
  } catch (const std::system_error&) {
    parts_->ends = true;
  }
}

void event_courier::post(device_event e) {
  {
    const std::lock_guard lock(parts_->mutex);
    if (parts_->ends) return;
    if (parts_->waiting.size() == most_waiting) parts_->waiting.pop_front();
    parts_->waiting.push_back(std::move(e));
  }
  parts_->changed.notify_all();
}

void event_courier::deliver(parts& p) noexcept {
  std::unique_lock lock(p.mutex);
  for (;;) {
    p.changed.wait(lock, [&] { return p.ends || !p.waiting.empty(); });
    if (p.waiting.empty()) break;
    const device_event next = std::move(p.waiting.front());
    p.waiting.pop_front();
    lock.unlock();
    log(p.hook, next);
    lock.lock();
  }
  p.has_ended = true;
  p.changed.notify_all();
}

void event_courier::finish(std::chrono::nanoseconds timeout) noexcept {
  if (!thread_.joinable()) return;
  std::unique_lock lock(parts_->mutex);
  parts_->ends = true;
  parts_->changed.notify_all();
  if (parts_->changed.wait_for(lock, timeout, [&] { return parts_->has_ended; })) {
    lock.unlock();
    thread_.join();
  } else {
    parts_->waiting.clear();
    lock.unlock();
    thread_.detach();
  }
}

}  // namespace troupe
