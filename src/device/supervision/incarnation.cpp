#include "device/supervision/incarnation.hpp"

#include "device/mailbox/mailbox.hpp"
#include "memory/memory_pool.hpp"
#include "os/event.hpp"
#include "os/message_socket.hpp"
#include "worker/process/blob_keeper.hpp"
#include "worker/process/engine.hpp"
#include "worker/process/process_title.hpp"
#include "worker/process/worker_argument.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace troupe {

result<std::unique_ptr<incarnation>> incarnation::start(const worker_plan& plan,
                                                        std::uint64_t number,
                                                        const std::vector<frozen_range>& frozen) {
  std::unique_ptr<incarnation> worker(new incarnation(plan, number));
  const std::size_t bytes = wire::worker_segment_bytes(plan.requests->capacity());
  auto memory = os::create_shared_memory("troupe-worker", bytes);
  if (!memory) return std::move(memory).error();
  // A worker process maps its segment itself; worker threads use this writable mapping.
  const bool in_process = plan.config->isolation == isolation::process;
  auto segment =
      os::map(*memory, bytes, in_process ? os::protection::read : os::protection::read_write);
  if (!segment) return std::move(segment).error();
  worker->segment_memory_ = *std::move(memory);
  worker->segment_ = *std::move(segment);
  // Fresh pages are zero, the initial value of every field of a segment.
  wire::doorbells& bells = plan.requests->bells(number);
  bells.worker_sleeps.store(1, std::memory_order_relaxed);

  auto started = in_process ? worker->start_process(frozen) : worker->start_threads(frozen);
  if (!started) return std::move(started).error();
  return worker;
}

incarnation::~incarnation() { incarnation::end(); }

result<void> incarnation::start_process(const std::vector<frozen_range>& frozen) {
  frozen_ = frozen;
  auto wakes = os::create_event();
  if (!wakes) return std::move(wakes).error();
  wakes_ = *std::move(wakes);
  auto pair = os::message_socket_pair();
  if (!pair) return std::move(pair).error();
  control_ = std::move(pair->first);
  if (plan_.config->forked_by) return have_forked(pair->second);
  auto process =
      os::child_process::spawn({plan_.executable, std::string(worker::worker_argument),
                                worker::title_argument(worker::title(plan_.ordinal, "starting"))},
                               pair->second, plan_.config->worker_environment.get());
  if (!process) {
    error failure = std::move(process).error();
    if (failure.vendor_code == ENOENT || failure.vendor_code == EACCES) {
      failure.code = errc::worker_not_found;
      failure.message = fmt::format(
          "no worker to start: {}; install it, or set device_config::worker_path", failure.message);
    }
    return failure;
  }
  process_ = *std::move(process);
  return {};
}

result<void> incarnation::start_threads(const std::vector<frozen_range>& frozen) {
  const auto range = [](const memory_pool& pool) {
    return wire::address_range{pool.base(), pool.bytes()};
  };
  auto blobs = os::map(*plan_.blobs, wire::blob_memory_bytes, os::protection::read_write);
  if (!blobs) return std::move(blobs).error();
  auto backend = worker::engine::bring_up(
      {.plugin = plan_.plugin,
       .device = plan_.device,
       .libraries = enabled_libraries(),
       .fault_injection = plan_.config->fault_injection,
       .ranges = {range(*plan_.device_memory), range(*plan_.host_memory)},
       .in_process = false,
       .add_own = plan_.config->own_operations,
       .user_plugins = plan_.config->plugins,
       .methods = methods_by_environment(plan_.config->methods),
       .blobs = std::make_shared<worker::blob_keeper>(
           *std::move(blobs), worker::blob_keeper::kept_in::memory_and_folder)});
  if (!backend) return std::move(backend).error();
  missing_ = (*backend)->missing();
  report_ = std::make_shared<thread_report>();
  auto started = worker::worker_runtime::start(
      {.mailbox = plan_.requests->shared(),
       .mailbox_bytes = plan_.requests->total_bytes(),
       .segment_bytes = segment_.bytes(),
       .bells = &plan_.requests->bells(number_),
       .segment = segment(),
       .program_wakes = plan_.program_wakes,
       .worker = number_,
       .lane_threads = lane_threads(),
       .in_process = false,
       .lost =
           [report = report_, wakes = plan_.program_wakes](error why) {
             {
               const std::lock_guard lock(report->mutex);
               report->lost = std::move(why);
             }
             const std::uint64_t one = 1;
             [[maybe_unused]] const ssize_t written = ::write(wakes, &one, sizeof(one));
           }},
      *std::move(backend));
  if (!started) return std::move(started).error();
  runtime_ = *std::move(started);
  configured_ = true;
  if (auto given = give_memory(); !given) return given;
  for (const frozen_range& one : frozen)
    protect(one, true);
  if (stage_ == stage::failed) return *failure_;
  stage_ = stage::ready;
  warm_ = true;
  return {};
}

int incarnation::lane_threads() const {
  if (plan_.config->lane_threads > 0) return plan_.config->lane_threads;
  // At least two: one can read the mailbox while the other runs a large request.
  return std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string incarnation::enabled_libraries() const {
  if (plan_.config->libraries.empty()) return {};
  return fmt::format("{} lane", fmt::join(plan_.config->libraries, " "));
}

void incarnation::hear_threads() {
  if (!report_) return;
  const std::lock_guard lock(report_->mutex);
  if (report_->lost) queues_fail(*std::exchange(report_->lost, std::nullopt));
}

void incarnation::queues_fail(error why) {
  queues_failed_ = queues_failed_ || stage_ != stage::failed;
  fail(std::move(why));
}

void incarnation::fail(error why) {
  if (stage_ == stage::failed) return;
  stage_ = stage::failed;
  failure_ = std::move(why);
}

os::exit_report incarnation::end() noexcept {
  if (runtime_ != nullptr) {
    runtime_->stop();
    // A process takes its access rights with it; the program's mapping stays.
    for (const frozen_range& one : frozen_)
      (void)runtime_->backend().protect(one.offset, one.bytes, false);
    runtime_.reset();
  }
  control_.reset();
  process_.kill();
  return process_.reap();
}

void incarnation::abandon() noexcept {
  [[maybe_unused]] const worker::worker_runtime* left_behind = runtime_.release();
  segment_.release();
}

}  // namespace troupe
