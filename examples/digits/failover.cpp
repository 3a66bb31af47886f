#include "failover.hpp"

#include <troupe/fault.hpp>

#include <cerrno>
#include <csignal>
#include <utility>

namespace digits {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto hang_limit = 250ms;

injected_fault send(std::string name, troupe::device& device, ledger& requests,
                    failover_clock& failovers, troupe::fault::kind kind,
                    std::chrono::milliseconds limit) {
  requests.sent(1);
  const clock::time_point now = clock::now();
  failovers.start(kind == troupe::fault::kind::hang ? now + limit : now);
  auto asked = device.ask(troupe::fault::inject{.what = kind}, {.run_limit = limit});
  injected_fault made{.name = std::move(name), .fails_a_request = true};
  if (auto outcome = requests.settle(made.name, std::move(asked)); !outcome) {
    made.error = std::move(outcome).error();
  }
  made.failover = failovers.wait();
  return made;
}

}  // namespace

void failover_clock::start(time fault) {
  const std::scoped_lock guard(lock_);
  fault_ = fault;
  armed_ = true;
  reading_ = {};
  waiting_for_answer_.store(false, std::memory_order_relaxed);
}

void failover_clock::ready(std::uint64_t generation, time now) {
  {
    const std::scoped_lock guard(lock_);
    if (!armed_ || reading_.to_generation) return;
    reading_.generation = generation;
    reading_.to_generation = now - fault_;
    waiting_for_answer_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void failover_clock::answered(time now) {
  if (!waiting_for_answer_.load(std::memory_order_relaxed)) return;
  {
    const std::scoped_lock guard(lock_);
    if (!reading_.to_generation || reading_.to_answer) return;
    reading_.to_answer = now - fault_;
    waiting_for_answer_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

failover_clock::reading failover_clock::wait() {
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, timeout, [this] { return reading_.to_answer.has_value(); });
  armed_ = false;
  return reading_;
}

injected_fault kill_worker(troupe::device& device, failover_clock& failovers) {
  injected_fault made{.name = "SIGKILL"};
  const std::optional<pid_t> worker = device.worker_pid();
  if (!worker) {
    made.error = {.code = troupe::errc::device_unavailable, .message = "no worker serves yet"};
    return made;
  }
  failovers.start(clock::now());
  if (::kill(*worker, SIGKILL) != 0) {
    made.error = troupe::system_failure("kill", errno, "the worker");
    return made;
  }
  made.failover = failovers.wait();
  return made;
}

bool on_gpu(const troupe::device& device) { return !device.description().uuid.empty(); }

injected_fault crash_worker(troupe::device& device, ledger& requests, failover_clock& failovers) {
  if (on_gpu(device)) {
    return send("illegal address", device, requests, failovers,
                troupe::fault::kind::unmapped_address, 10s);
  }
  return send("crash", device, requests, failovers, troupe::fault::kind::segmentation_fault, 10s);
}

injected_fault hang_worker(troupe::device& device, ledger& requests, failover_clock& failovers) {
  return send("hang", device, requests, failovers, troupe::fault::kind::hang, hang_limit);
}

}  // namespace digits
