#pragma once

#include <troupe/base/error.hpp>
#include <troupe/core/future.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/request_options.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/tensor/tensor.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe::gpu_test {

/// How a fault comes about.
enum class way : std::uint8_t {
  request,         ///< `fault::inject` of `kind`
  worker_signal,   ///< `signal` to the worker
  standby_signal,  ///< `signal` to the standby
  recovery,        ///< a request, and a second fault while the standby takes over
  poison,          ///< the same request three times
  neighbour,       ///< a request, while another program uses the device
  library,         ///< a request of `library`, whose operand the worker has lost
  long_request,    ///< a request of `library` that takes longer than its run limit
  recorded,        ///< a request of `recorded` in a graph, whose operand the worker has lost
  // Of hostile workers, in tests/chaos.
  deed,           ///< a worker that serves does wrong
  standby_start,  ///< the next standby goes wrong while it starts
  needed_start,   ///< likewise, but no other worker is left
  twice,          ///< `signal` to the worker, and to the next one a moment later
};

/// A request of a library with one operand.
struct library_request {
  std::string_view name;
  dtype type;  ///< the operand's
  future<void> (*ask)(device& gpu, const library_actor& where, const any_tensor& operand);
};

struct graph_request;

/// One kind of fault, and what is promised of it.
struct fault_case {
  std::string_view name;
  troupe::gpu_test::way way = way::request;
  fault::kind kind = fault::kind::segmentation_fault;
  int signal = 0;
  bool busy = true;                ///< there are requests in flight when it strikes
  bool ends_worker = true;         ///< else the worker goes on
  errc code = errc::device_fault;  ///< of the injected request
  std::uint8_t detail = 0;         ///< which `deed` or start
  const library_request* library = nullptr;
  const graph_request* recorded = nullptr;
  /// The device has been seen to report such a request as done:
  /// `device_health::unexplained_faults`.
  bool may_pass_as_done = false;
};

/// The faults that a backend can have, in the order in which they are tried.
[[nodiscard]] std::span<const fault_case> cases_of(backend_kind backend);
[[nodiscard]] const fault_case* find_case(backend_kind backend, std::string_view name);

/// The backend of TROUPE_BACKEND; without that, CUDA if there is a card.
[[nodiscard]] backend_kind backend_under_test();
/// A plugin that stands in for CUDA's (TROUPE_TEST_PLUGIN); empty without one.
[[nodiscard]] std::string plugin_under_test();
[[nodiscard]] std::string_view name_of(backend_kind backend);

/// The name of the request that is to blame.
[[nodiscard]] inline std::string_view culprit_of(const fault_case& what) {
  if (what.way == way::recorded) return "graph.run";
  return what.library != nullptr ? what.library->name : fault::inject::name;
}

/// How a hang is noticed.
inline constexpr std::chrono::milliseconds hang_limit{50};

/// How to ask for such a fault with `output` as what it leaves undefined.
[[nodiscard]] fault::inject injection(fault::kind what, const any_tensor& frozen,
                                      const any_tensor& output);
[[nodiscard]] request_options options_of(fault::kind what);

}  // namespace troupe::gpu_test
