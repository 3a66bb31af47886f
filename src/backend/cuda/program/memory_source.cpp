#include "backend/cuda/program/memory_source.hpp"

#include "backend/cuda/program/device_check.hpp"
#include "backend/cuda/program/device_list.hpp"
#include "os/thread.hpp"

#include <troupe/device/topology.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace troupe::cuda {
namespace {

// An event ends the wait at once; this is how long the watcher takes to notice that it must end.
constexpr std::chrono::milliseconds watch_interval{200};
constexpr std::chrono::milliseconds observe_interval{200};
// Sensors are read this often, until no snapshot has asked for them for a while.
constexpr std::chrono::seconds sensors_interval{1};
constexpr std::chrono::seconds sensors_asked_for{10};

class exported_memory final : public memory_slab {
 public:
  exported_memory(const driver& d, CUmemGenericAllocationHandle memory, int descriptor) noexcept
      : driver_(d), memory_(memory), descriptor_(descriptor) {
    // Only for our workers, which get it by message.
    ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  }
  exported_memory(const exported_memory&) = delete;
  exported_memory& operator=(const exported_memory&) = delete;
  ~exported_memory() override {
    ::close(descriptor_);
    (void)driver_.cuMemRelease(memory_);
  }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }
  [[nodiscard]] CUmemGenericAllocationHandle memory() const noexcept { return memory_; }

 private:
  const driver& driver_;
  CUmemGenericAllocationHandle memory_;
  int descriptor_;
};

class reserved_addresses final : public address_range {
 public:
  reserved_addresses(const driver& d, CUdeviceptr base, std::uint64_t bytes) noexcept
      : driver_(d), base_(base), bytes_(bytes) {}
  reserved_addresses(const reserved_addresses&) = delete;
  reserved_addresses& operator=(const reserved_addresses&) = delete;
  ~reserved_addresses() override { (void)driver_.cuMemAddressFree(base_, bytes_); }
  [[nodiscard]] std::byte* base() const noexcept override {
    return reinterpret_cast<std::byte*>(base_);
  }

 private:
  const driver& driver_;
  CUdeviceptr base_;
  std::uint64_t bytes_;
};

/// Addresses of the program, and the slab that is mapped there.
class mapped_memory final : public slab_view {
 public:
  mapped_memory(const driver& d, CUdeviceptr at, std::uint64_t bytes) noexcept
      : driver_(d), at_(at), bytes_(bytes) {}
  mapped_memory(const mapped_memory&) = delete;
  mapped_memory& operator=(const mapped_memory&) = delete;
  // In a context that a fault has ruined this fails; the process must end anyway.
  ~mapped_memory() override {
    if (mapped_) (void)driver_.cuMemUnmap(at_, bytes_);
    (void)driver_.cuMemAddressFree(at_, bytes_);
  }
  [[nodiscard]] std::byte* address() const noexcept override {
    return reinterpret_cast<std::byte*>(at_);
  }
  result<void> map(CUmemGenericAllocationHandle memory, int device, bool writable) {
    if (auto mapped = check(driver_.cuMemMap(at_, bytes_, 0, memory, 0), "cuMemMap"); !mapped) {
      return mapped;
    }
    mapped_ = true;
    const CUmemAccessDesc access{
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
    return check(driver_.cuMemSetAccess(at_, bytes_, &access, 1), "cuMemSetAccess");
  }

 private:
  const driver& driver_;
  CUdeviceptr at_;
  std::uint64_t bytes_;
  bool mapped_ = false;
};

}  // namespace

result<std::shared_ptr<device_source>> memory_source::open(std::int32_t ordinal) {
  auto loaded = driver::load();
  if (!loaded) return std::move(loaded).error();
  auto devices = list_devices(**loaded);
  if (!devices) return std::move(devices).error();
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices->size()) {
    return error{
        .code = errc::device_unavailable,
        .message = fmt::format("device {} does not exist: the driver shows {}, counted from 0{}",
                               ordinal, devices->size(), what_hides_devices()),
        .library = "cuda"};
  }
  const device_description& described = (*devices)[static_cast<std::size_t>(ordinal)];
  CUdevice device = 0;
  if (auto got = check((*loaded)->cuDeviceGet(&device, ordinal), "cuDeviceGet"); !got) {
    return std::move(got).error();
  }
  if (auto usable = check_usable(**loaded, device, described); !usable) {
    return std::move(usable).error();
  }
  std::shared_ptr<memory_source> source(new memory_source(**loaded, described));
  std::size_t granule = 0;
  if (auto asked = check((*loaded)->cuMemGetAllocationGranularity(
                             &granule, &source->kind_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                         "cuMemGetAllocationGranularity");
      !asked) {
    return std::move(asked).error();
  }
  source->granule_ = granule;
  return std::shared_ptr<device_source>(std::move(source));
}

memory_source::memory_source(const driver& d, device_description description)
    : driver_(d),
      description_(std::move(description)),
      management_(nvml_device::open(description_.uuid)) {
  kind_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind_.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = description_.ordinal};
  kind_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

result<std::unique_ptr<memory_slab>> memory_source::allocate(std::uint64_t bytes) {
  CUmemGenericAllocationHandle memory = 0;
  if (auto made = check(driver_.cuMemCreate(&memory, bytes, &kind_, 0), "cuMemCreate"); !made) {
    error why = std::move(made).error();
    if (const auto now = level()) {
      why.message =
          fmt::format("{} bytes asked of the device, {} of {} free", bytes, now->free, now->total);
    }
    return why;
  }
  int descriptor = -1;
  if (auto exported = check(driver_.cuMemExportToShareableHandle(
                                &descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                            "cuMemExportToShareableHandle");
      !exported) {
    (void)driver_.cuMemRelease(memory);
    return std::move(exported).error();
  }
  return std::unique_ptr<memory_slab>(
      std::make_unique<exported_memory>(driver_, memory, descriptor));
}

result<std::unique_ptr<slab_view>> memory_source::view(const memory_slab& slab, std::uint64_t bytes,
                                                       std::byte* wanted, bool writable) {
  const auto refuse = [&](std::string what) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{}: call cudaSetDevice({}) in the thread that maps", what,
                                        description_.ordinal),
                 .library = "cuda"};
  };
  CUdevice current = -1;
  if (driver_.cuCtxGetDevice(&current) != CUDA_SUCCESS) {
    return refuse("the program has no CUDA context in this thread");
  }
  if (current != description_.ordinal) {
    return refuse(fmt::format("the CUDA context of this thread is of device {}, the tensor of {}",
                              current, description_.ordinal));
  }
  CUdeviceptr at = 0;
  // The address is only a hint: if the program reserves it for its workers, the driver chooses
  // another.
  if (auto reserved = check(
          driver_.cuMemAddressReserve(&at, bytes, 0, reinterpret_cast<CUdeviceptr>(wanted), 0),
          "cuMemAddressReserve");
      !reserved) {
    return std::move(reserved).error();
  }
  auto made = std::make_unique<mapped_memory>(driver_, at, bytes);
  const auto memory = static_cast<const exported_memory&>(slab).memory();
  if (auto mapped = made->map(memory, description_.ordinal, writable); !mapped) {
    return std::move(mapped).error();
  }
  return std::unique_ptr<slab_view>(std::move(made));
}

result<std::unique_ptr<address_range>> memory_source::reserve(std::uint64_t bytes) {
  CUdeviceptr base = 0;
  if (auto taken = check(driver_.cuMemAddressReserve(&base, bytes, 0, 0, 0), "cuMemAddressReserve");
      !taken) {
    error why = std::move(taken).error();
    why.message += fmt::format("; {} bytes of addresses", bytes);
    return why;
  }
  return std::unique_ptr<address_range>(std::make_unique<reserved_addresses>(driver_, base, bytes));
}

result<memory_level> memory_source::level() {
  const auto now = management_ ? management_->memory() : std::nullopt;
  if (!now) return error{.code = errc::unsupported, .message = "no libnvidia-ml.so.1 to ask"};
  return memory_level{.free = now->free, .total = now->total};
}

void memory_source::describe_link(const device_source& owner, device_link& found) {
  const CUdevice reader = description_.ordinal;
  const CUdevice read = owner.description().ordinal;
  if (reader == read) {
    found = {.through = device_link::kind::same_gpu, .native_atomics = true};
    return;
  }
  int can = 0;
  if (driver_.cuDeviceCanAccessPeer(&can, reader, read) != CUDA_SUCCESS || can == 0) return;
  const auto attribute = [&](CUdevice_P2PAttribute which) {
    int value = 0;
    (void)driver_.cuDeviceGetP2PAttribute(&value, which, reader, read);
    return value;
  };
  found.native_atomics = attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0;
  found.performance_rank = attribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
  // PCIe carries no atomic operations between GPUs.
  found.through = found.native_atomics ? device_link::kind::nvlink : device_link::kind::pcie;
}

void memory_source::on_fault(alarm raise) {
  // The previous threads may still be ending: they are joined without the mutex, which they take.
  std::jthread observer_before;
  std::jthread watcher_before;
  const std::lock_guard lock(mutex_);
  alarm_ = std::move(raise);
  if (!alarm_) {
    // Their queries take long while other programs fault, and the answers are not needed.
    observer_.request_stop();
    watcher_.request_stop();
    return;
  }
  if (!management_) return;
  if (watcher_.joinable() && !watcher_.get_stop_token().stop_requested()) return;
  observer_before = std::move(observer_);
  watcher_before = std::move(watcher_);
  try {
    observer_ =
        os::start_thread<std::jthread>([this](const std::stop_token& ending) { observe(ending); });
    watcher_ =
        os::start_thread<std::jthread>([this](const std::stop_token& ending) { watch(ending); });
  } catch (const std::system_error&) {
    // Without a thread for it, faults are noticed later, from the driver.
  }
}

// While a fault is handled this query takes a hundred milliseconds or more: so the previous answer
// counts, and the thread that waits for events does not query.
void memory_source::observe(const std::stop_token& ending) noexcept {
  while (!ending.stop_requested()) {
    decltype(processes_) processes;
    try {
      processes = management_->processes();
    } catch (const std::bad_alloc&) {
      processes.reset();  // unknown, as if there were no answer
    }
    std::unique_lock lock(mutex_);
    processes_ = std::move(processes);
    if (sensors_are_due()) {
      lock.unlock();
      auto read = sensors_now();
      lock.lock();
      sensors_ = std::move(read);
    }
    (void)ended_.wait_for(lock, ending, observe_interval, [] { return false; });
  }
}

// With the mutex.
bool memory_source::sensors_are_due() const {
  const auto now = std::chrono::steady_clock::now();
  return now - asked_ < sensors_asked_for && (!sensors_ || now - sensors_->at >= sensors_interval);
}

std::optional<gpu_sensors> memory_source::sensors_now() noexcept {
  try {
    return management_->sensors();
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

bool memory_source::read_sensors(gpu_sensors& into) {
  const std::lock_guard lock(mutex_);
  asked_ = std::chrono::steady_clock::now();
  if (!sensors_ || asked_ - sensors_->at > sensors_asked_for) return false;
  into = *sensors_;
  return true;
}

void memory_source::watch(const std::stop_token& ending) noexcept {
  while (!ending.stop_requested()) {
    const auto xid = management_->wait_for_xid(watch_interval);
    if (!xid) continue;
    const std::lock_guard lock(mutex_);
    try {
      if (alarm_) alarm_(*xid);
    } catch (const std::bad_alloc&) {
      continue;  // the fault is noticed later, from the driver
    }
  }
}

bool memory_source::used_only_by(const std::vector<std::int32_t>& pids) {
  const std::lock_guard lock(mutex_);
  return processes_ && std::ranges::all_of(*processes_, [&](std::int32_t pid) {
           return std::ranges::find(pids, pid) != pids.end();
         });
}

}  // namespace troupe::cuda
