#include "trial.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace trial {
namespace {

using troupe::lane_context;
using troupe::result;

result<void> run_affine(const affine& r, lane_context&) {
  if (!r.until.null()) {
    const std::atomic_ref flag(*r.until.data<std::uint32_t>());
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(longest_wait_ns);
    while (flag.load(std::memory_order_acquire) == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }
  for (std::int64_t i = 0; i < r.x.extent(0); ++i) {
    r.y.data<float>()[i * r.y.stride(0)] =
        static_cast<float>(r.a * static_cast<double>(r.x.data<float>()[i * r.x.stride(0)]) + r.b);
  }
  return {};
}

result<double> run_total(const total& r, lane_context&) {
  double sum = 0;
  for (std::int64_t i = 0; i < r.x.extent(0); ++i)
    sum += static_cast<double>(r.x.data<float>()[i * r.x.stride(0)]);
  return sum;
}

result<void> run_misdeed(const misdeed& r, lane_context&) {
  switch (r.what) {
    case deed::crash: {
      volatile std::uintptr_t nowhere = 8;
      *reinterpret_cast<float*>(nowhere) = 1.0F;
      break;
    }
    case deed::throw_exception:
      throw std::runtime_error("thrown by a plugin");
    case deed::be_refused:
      return troupe::error{.code = troupe::errc::library_error, .message = "refused"};
  }
  return {};
}

// Warmed by the worker's control thread, asked for in a lane.
std::atomic<std::int64_t> times{0};

result<std::int64_t> run_times_warm(const times_warm&, lane_context&) { return times.load(); }

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add(&run_affine);
  table.add(&run_total, troupe::effort::by_size);
  table.add(&run_misdeed);
  table.add(&run_times_warm);
});

const troupe::plugin_warm_up warm_up([](lane_context& lane) -> result<void> {
  auto room = lane.workspace(1000);
  if (!room) return std::move(room).error();
  ++times;
  return {};
});

}  // namespace
}  // namespace trial
