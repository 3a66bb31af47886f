#include "raw_fault.hpp"

#include "builtin/fault/cuda/kernels.hpp"
#include "raw.hpp"
#include "raw_check.hpp"
#include "raw_driver.hpp"
#include "samples.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace troupe::bench::raw {
namespace {

using namespace std::chrono_literals;
using kind = troupe::fault::kind;

double milliseconds(clock::duration spent) {
  return std::chrono::duration<double, std::milli>(spent).count();
}

/// An address that is never mapped. Given back with the process.
std::byte* unmapped_address() {
  CUdeviceptr base = 0;
  check(driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve")(
            &base, std::size_t{2} << 20, 0, 0, 0),
        "cuMemAddressReserve");
  return reinterpret_cast<std::byte*>(base);
}

/// Device 0's, as NVML spells it, with a zero behind it.
void write_uuid(std::array<char, 41>& to) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  auto* out = fmt::format_to(to.data(), "GPU-");
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
    out = fmt::format_to(out, "{:02x}", static_cast<unsigned char>(properties.uuid.bytes[i]));
  }
  *out = 0;
}

/// Enqueues what faults. A kernel may write to `mapped`, and may not to `unmapped`.
result<void> enqueue_fault(kind what, std::byte* mapped, std::byte* unmapped, cudaStream_t stream) {
  switch (what) {
    case kind::trap:
      return cuda::enqueue_trap(stream);
    case kind::failed_assertion:
      return cuda::enqueue_failed_assertion(stream);
    case kind::stack_overflow:
      return cuda::enqueue_stack_overflow(mapped, stream);
    case kind::misaligned_address:
      return cuda::enqueue_write_word(mapped + 1, stream);
    case kind::unmapped_address:
      return cuda::enqueue_write(unmapped, stream);
    default:
      return error{.code = errc::unsupported, .message = "no fault that ends a context"};
  }
}

}  // namespace

// Everything is told by numbers that only go up, each written by one process: which fault is
// wanted, which one is watched, about to be launched and over. Sequential consistency throughout.
struct faulting_processes::shared {
  std::array<char, 41> uuid{};  // by the bystander, before `ready`
  std::atomic<bool> ready{false};
  std::atomic<int> wanted{0};  // by this process
  std::atomic<kind> what{};
  std::atomic<int> watched{0};  // by the bystander, which restarts its count at `about_to`
  std::atomic<int> counted{0};
  std::atomic<double> pause{0};
  std::atomic<int> about_to{0};  // by the process that faults
  // Reset before a fault is wanted, and then set by the process that faults.
  std::atomic<clock::time_point> launched{};
  std::atomic<double> told{0};
  std::atomic<int> over{0};  // by the nursery
  std::atomic<bool> failed{false};
};

void faulting_processes::unmap::operator()(shared* held) const noexcept {
  (void)::munmap(held, sizeof(shared));
}

// Launches while a fault is watched for, and sleeps otherwise.
void faulting_processes::bystand(shared& s) {
  (void)open_device();
  write_uuid(s.uuid);
  stream launched;
  launched.launch_empty();
  launched.synchronize();
  s.ready = true;
  for (;;) {
    const int trial = s.wanted;
    if (trial == s.over) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    double longest = 0;
    for (auto last = clock::now(); trial != s.over;) {
      launched.launch_empty();
      launched.synchronize();
      const auto now = clock::now();
      longest = std::max(longest, milliseconds(now - last));
      last = now;
      if (s.about_to == trial && s.counted != trial) {
        longest = 0;
        s.counted = trial;
      }
      s.pause = longest;
      s.watched = trial;
    }
  }
}

void faulting_processes::fault_once(shared& s) {
  try {
    (void)open_device();
    stream launched;
    const memory room(memory::place::device, 4096);
    std::byte* const unmapped = unmapped_address();
    auto* const native = static_cast<cudaStream_t>(launched.native());
    cuda::load_fault_kernels().value();
    launched.launch_empty();
    launched.synchronize();
    s.about_to = s.wanted.load();
    while (s.counted != s.wanted)
      std::this_thread::yield();
    const auto launch = clock::now();
    s.launched = launch;
    enqueue_fault(s.what, static_cast<std::byte*>(room.address()), unmapped, native).value();
    cudaError_t code = cudaErrorNotReady;
    while (code == cudaErrorNotReady && clock::now() - launch < 3s)
      code = cudaStreamQuery(native);
    s.told = milliseconds(clock::now() - launch);
    // Not `exit`: nothing of CUDA can be put in order here any more.
    ::_exit(code == cudaSuccess || code == cudaErrorNotReady ? 1 : 0);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    ::_exit(1);
  }
}

void faulting_processes::raise_children(shared& s) {
  for (;;) {
    const int trial = s.wanted;
    if (trial == s.over) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      fault_once(s);
    }
    int status = 1;
    if (child > 0) (void)::waitpid(child, &status, 0);
    if (status != 0) s.failed = true;
    s.over = trial;
  }
}

faulting_processes::faulting_processes() {
  void* at =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no memory to share with other processes");
  shared_.reset(::new (at) shared());
  const auto start = [&](void (*role)(shared&)) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no further process");
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      role(*shared_);
    } catch (const std::exception& failed) {
      std::fprintf(stderr, "%s\n", failed.what());
      shared_->failed = true;
    }
    ::_exit(1);
  };
  bystander_ = start(bystand);
  nursery_ = start(raise_children);
  // A GPU handles a fault the later the more contexts came before the one that faults: here it is
  // always the bystander's.
  const auto give_up = clock::now() + 20s;
  while (!shared_->ready && !shared_->failed && clock::now() < give_up)
    std::this_thread::sleep_for(1ms);
  management_ = cuda::nvml_device::open(shared_->uuid.data());
}

faulting_processes::~faulting_processes() {
  for (const pid_t child : {bystander_, nursery_}) {
    if (child <= 0) continue;
    (void)::kill(child, SIGKILL);
    (void)::waitpid(child, nullptr, 0);
  }
}

fault_cost faulting_processes::fault(kind what) {
  shared& s = *shared_;
  // The rest of the previous fault.
  while (management_ && management_->wait_for_xid(0ms)) {
  }
  s.what = what;
  s.launched = clock::time_point();
  const int trial = ++s.wanted;
  std::optional<double> event;
  const auto give_up = clock::now() + 20s;
  while (s.over != trial && !s.failed && clock::now() < give_up) {
    if (!management_ || event) {
      std::this_thread::sleep_for(1ms);
    } else if (management_->wait_for_xid(1ms) && s.launched.load() != clock::time_point()) {
      event = milliseconds(clock::now() - s.launched.load());
    }
  }
  if (s.over != trial || s.failed || s.watched != trial) {
    throw std::runtime_error(
        "a fault in plain CUDA: " + std::string(troupe::fault::to_string(what)) + " was not told");
  }
  return {.told = s.told, .pause = s.pause, .event = event};
}

}  // namespace troupe::bench::raw
