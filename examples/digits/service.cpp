#include "service.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace digits {
namespace {

constexpr std::size_t parts = 3;
constexpr std::uint32_t seed = 1998;

}  // namespace

service::service(troupe::device& device, const dataset& all, ledger& requests,
                 failover_clock& failovers)
    : device_(device), all_(all), requests_(requests), failovers_(failovers) {
  held_out_split cut = split(all, parts, seed);
  part_ = std::move(cut.part);
  for (const dataset& images : cut.training) {
    training_.push_back(upload(device, images).value());
    most_ = std::max(most_, images.size());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    expected_.push_back(
        classify_on_host(training_[part_[i]], cut.training[part_[i]], all.image(i)));
  }
}

void service::start(int clients, int in_flight_each) {
  for (int i = 0; i < clients; ++i) {
    clients_.emplace_back(
        [this, in_flight_each](const std::stop_token& stop) { client(stop, in_flight_each); });
  }
}

tally service::stop() {
  for (std::jthread& each : clients_)
    each.request_stop();
  clients_.clear();  // joins
  return std::move(total_);
}

service::pulse service::take_pulse() noexcept {
  const std::int64_t answers = answers_.load(std::memory_order_relaxed);
  const std::int64_t latency_us = latency_us_.load(std::memory_order_relaxed);
  const std::int64_t fresh = answers - std::exchange(pulse_answers_, answers);
  const std::int64_t spent = latency_us - std::exchange(pulse_latency_us_, latency_us);
  const auto mean_us = static_cast<double>(spent) / static_cast<double>(std::max(fresh, 1L));
  return {.answers = answers, .latency_ms = mean_us / 1000};
}

// Round robin over the slots: the oldest classification is waited for and replaced.
void service::client(const std::stop_token& stop, int in_flight) {
  std::deque<classification> slots;
  for (int i = 0; i < in_flight; ++i)
    slots.emplace_back(device_, requests_, most_);
  tally seen;
  for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
    classification& slot = slots[turn % slots.size()];
    if (slot.busy()) end(slot, seen);
    begin(slot);
  }
  for (classification& slot : slots) {
    if (slot.busy()) end(slot, seen);
  }
  const std::scoped_lock guard(lock_);
  total_.answers += seen.answers;
  total_.correct += seen.correct;
  total_.unlike_host += seen.unlike_host;
  total_.latency_ms.insert(total_.latency_ms.end(), seen.latency_ms.begin(), seen.latency_ms.end());
}

void service::begin(classification& slot) {
  const std::size_t image = next_image_.fetch_add(1, std::memory_order_relaxed) % all_.size();
  slot.start(all_, image, training_[part_[image]]);
}

void service::end(classification& slot, tally& seen) {
  const troupe::result<int> digit = slot.finish();
  if (!digit) return;  // the ledger has it
  const auto now = std::chrono::steady_clock::now();
  failovers_.answered(now);
  const auto took = std::chrono::duration<float, std::milli>(now - slot.started());
  seen.latency_ms.push_back(took.count());
  seen.answers += 1;
  seen.correct += *digit == all_.labels[slot.image()] ? 1 : 0;
  seen.unlike_host += *digit == expected_[slot.image()] ? 0 : 1;
  latency_us_.fetch_add(static_cast<std::int64_t>(took.count() * 1000), std::memory_order_relaxed);
  answers_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace digits
