#include "worker/plugins/built_in.hpp"

#include "os/shared_memory.hpp"
#include "worker/process/process_fault.hpp"

#include <troupe/core/deadline.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/lane/launch.hpp>
#include <troupe/lane/mapping.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/lane/rest.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace troupe::worker {
namespace {

result<void> mark(const lane::marker&, lane_context&) { return {}; }

/// Yields until `ended` returns true or the time is over.
template <class Ended>
void spin(std::int64_t at_most_ns, Ended ended) {
  const auto end = detail::deadline_after(std::chrono::steady_clock::now(),
                                          std::chrono::nanoseconds(at_most_ns));
  while (!ended() && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

// Frames are smaller than a page, so that none skips the guard page below the stack.
[[gnu::noinline]] std::uint64_t descend(std::uint64_t levels) {
  constexpr std::size_t size = 128;
  volatile std::uint64_t frame[size];
  frame[levels % size] = levels;
  const std::uint64_t below = levels == 0 ? 0 : descend(levels - 1);
  return below ^ frame[(below + levels) % size];  // after the call: this frame is needed
}
// Sets the begun flag each time that it is called.
bool given_back(const void* request) {
  const auto& r = *static_cast<const lane::mapping*>(request);
  // Release: a thread that sees it sees the outputs of earlier requests.
  std::atomic_ref(*r.begun.data<std::uint32_t>()).store(1, std::memory_order_release);
  return std::atomic_ref(*r.ended.data<std::uint32_t>()).load(std::memory_order_acquire) != 0;
}

// Success means that the program may have written it.
result<void> mapped(const void* request) {
  const auto& r = *static_cast<const lane::mapping*>(request);
  const std::uint32_t how =
      std::atomic_ref(*r.ended.data<std::uint32_t>()).load(std::memory_order_relaxed);
  if (how != lane::mapping::withdrawn) return {};
  return error{.code = errc::cancelled,
               .message = "the mapping was withdrawn before the program got it"};
}

// The worker is idle, and is about to end: nothing waits for this thread to notice the flag.
result<void> rest(const lane::rest& r, lane_context&) {
  constexpr auto between_looks = std::chrono::microseconds(200);
  const std::atomic_ref until(*r.until.data<std::uint32_t>());
  while (until.load(std::memory_order_acquire) == 0)
    std::this_thread::sleep_for(between_looks);
  return {};
}

result<void> launch_nothing(const lane::launch&, lane_context&) { return {}; }

result<void> withdraw(const any_tensor& t) {
  static const std::size_t page = os::page_bytes();
  const auto bytes = static_cast<std::size_t>(t.count() * size_of(t.type()));
  return os::protect(t.address(), (bytes + page - 1) / page * page, os::protection::none);
}

result<void> inject(const fault::inject& r, lane_context&) {
  switch (r.what) {
    case fault::kind::segmentation_fault:
    case fault::kind::abort:
    case fault::kind::exit:
    case fault::kind::kill:
    case fault::kind::exception:
      fault_process(r.what);
      break;
    case fault::kind::hang:
      for (;;)
        ::pause();
    case fault::kind::out_of_memory:
      throw std::bad_alloc();
    case fault::kind::write_frozen:
      *reinterpret_cast<volatile std::byte*>(r.target.address()) = std::byte{1};
      break;
    case fault::kind::spin:
      spin(r.duration_ns, [] { return false; });
      break;
    case fault::kind::trap:
      __builtin_trap();
    case fault::kind::stack_overflow:
      (void)descend(std::uint64_t{1} << 40);
      break;
    case fault::kind::withdraw:
      return withdraw(r.target);
    case fault::kind::unmapped_address:
    case fault::kind::misaligned_address:
    case fault::kind::failed_assertion:
    case fault::kind::invalid_launch:
      return error{.code = errc::unsupported,
                   .message = fmt::format("{} is a fault of kernels, and this backend has none",
                                          to_string(r.what))};
  }
  return {};
}

result<void> run_spin_until(const fault::spin_until& r, lane_context&) {
  const std::atomic_ref flag(*r.flag.data<std::uint32_t>());
  spin(r.at_most_ns, [&] { return flag.load(std::memory_order_acquire) != 0; });
  if (r.output.null()) return {};
  float* const output = r.output.data<float>();
  for (std::int64_t i = 0; i < r.output.count(); ++i)
    output[i] = static_cast<float>(r.value) + (r.add ? output[i] : 0.0F);
  return {};
}

}  // namespace

void add_built_in(operation_table& operations, bool fault_injection) {
  operations.add(&mark, effort::by_size);
  operations.add(&launch_nothing, effort::by_size);
  operations.add(&rest, effort::blocks_host);
  operations.insert(
      {.type = &request_type_of<lane::mapping>(),
       .run = [](void*, const void* r, lane_context&, std::byte*) { return mapped(r); },
       .ready = &given_back});
  if (!fault_injection) return;
  operations.add(&inject);
  operations.add(&run_spin_until);
}

}  // namespace troupe::worker
