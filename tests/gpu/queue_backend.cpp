// A backend for tests, between the CPU's and CUDA's: the CPU's operations, run by queues, on memory
// that workers map slab by slab. To the device it is a GPU: calls return before the work is done,
// marks tell of it, a fault of one request loses the context, and a killed worker is buried later.
//
// It is there because all that ran on GPUs only, which most machines and CI do not have: a plugin
// that brings an accelerator and a source of device memory is served by `stream_lanes` in a worker
// process, and supervised with requests held back and suspects in several lanes. Nothing here can
// fall back to the CPU's way unnoticed: that one refuses the faults of kernels.

#include "memory/device_source.hpp"
#include "reply_turn.hpp"
#include "unit/worker/fake_accelerator.hpp"
#include "wire/layout.hpp"
#include "worker/process/process_fault.hpp"

#include <troupe/base/export.hpp>
#include <troupe/blas/batched.hpp>
#include <troupe/blas/level1.hpp>
#include <troupe/blas/level1_reductions.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/collective.hpp>
#include <troupe/device/device_description.hpp>
#include <troupe/device/topology.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using testing_worker::fake_accelerator;
using testing_worker::fake_lane;

// In the program.

class slab final : public memory_slab {
 public:
  explicit slab(int descriptor) noexcept : descriptor_(descriptor) {}
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;
  ~slab() override { ::close(descriptor_); }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }

 private:
  int descriptor_;
};

class mapped_slab final : public slab_view {
 public:
  mapped_slab(std::byte* at, std::uint64_t bytes) noexcept : at_(at), bytes_(bytes) {}
  mapped_slab(const mapped_slab&) = delete;
  mapped_slab& operator=(const mapped_slab&) = delete;
  ~mapped_slab() override { ::munmap(at_, bytes_); }
  [[nodiscard]] std::byte* address() const noexcept override { return at_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
};

constexpr int nothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

class taken_addresses final : public address_range {
 public:
  taken_addresses(std::byte* at, std::uint64_t bytes) noexcept : at_(at), bytes_(bytes) {}
  taken_addresses(const taken_addresses&) = delete;
  taken_addresses& operator=(const taken_addresses&) = delete;
  ~taken_addresses() override { ::munmap(at_, bytes_); }
  [[nodiscard]] std::byte* base() const noexcept override { return at_; }

 private:
  std::byte* at_;
  std::uint64_t bytes_;
};

class queue_source final : public device_source {
 public:
  explicit queue_source(std::int32_t ordinal)
      : description_{.ordinal = ordinal,
                     .name = "queues of threads",
                     .uuid = "queues-" + std::to_string(ordinal),
                     .memory_bytes = std::uint64_t{8} << 30} {}

  [[nodiscard]] const device_description& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] std::uint64_t granule_bytes() const noexcept override { return 2 << 20; }
  [[nodiscard]] result<std::unique_ptr<memory_slab>> allocate(std::uint64_t bytes) override {
    const int descriptor = ::memfd_create("troupe-queues", MFD_CLOEXEC);
    if (descriptor < 0) return system_failure("memfd_create", errno);
    auto made = std::make_unique<slab>(descriptor);
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      return system_failure("ftruncate", errno);
    }
    return std::unique_ptr<memory_slab>(std::move(made));
  }
  [[nodiscard]] result<std::unique_ptr<slab_view>> view(const memory_slab& mapped,
                                                        std::uint64_t bytes, std::byte*,
                                                        bool writable) override {
    void* const at = ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                            MAP_SHARED, mapped.descriptor(), 0);
    if (at == MAP_FAILED) return system_failure("mmap", errno);
    return std::unique_ptr<slab_view>(
        std::make_unique<mapped_slab>(static_cast<std::byte*>(at), bytes));
  }
  [[nodiscard]] result<std::unique_ptr<address_range>> reserve(std::uint64_t bytes) override {
    void* const at = ::mmap(nullptr, bytes, PROT_NONE, nothing, -1, 0);
    if (at == MAP_FAILED) return system_failure("mmap", errno);
    return std::unique_ptr<address_range>(
        std::make_unique<taken_addresses>(static_cast<std::byte*>(at), bytes));
  }
  [[nodiscard]] result<memory_level> level() override {
    return error{.code = errc::unsupported, .message = "nobody counts"};
  }
  void describe_link(const device_source&, device_link& found) override {
    found = {.through = device_link::kind::shared_memory, .native_atomics = true};
  }
  void on_fault(alarm) override {}
  [[nodiscard]] bool used_only_by(const std::vector<std::int32_t>&) override { return true; }

 private:
  device_description description_;
};

// In a worker.

class queue_device final : public accelerator {
 public:
  queue_device(bool in_program, std::shared_ptr<kept_blobs> blobs) : in_program_(in_program) {
    queues_.blobs = std::move(blobs);
  }

  void enter_thread() override {}
  [[nodiscard]] result<void> map(std::byte* at, std::uint64_t bytes, int descriptor) override {
    const int placed = in_program_ ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    const void* const mapped =
        ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | placed, descriptor, 0);
    return mapped == at ? result<void>() : system_failure("mmap", errno);
  }
  [[nodiscard]] result<void> unmap(std::byte* at, std::uint64_t bytes) override {
    const bool done = in_program_ ? ::mmap(at, bytes, PROT_NONE, nothing | MAP_FIXED, -1, 0) == at
                                  : ::munmap(at, bytes) == 0;
    return done ? result<void>() : system_failure("munmap", errno);
  }
  [[nodiscard]] result<void> protect(std::byte* at, std::uint64_t bytes, bool read_only) override {
    const std::lock_guard lock(mutex_);
    read_only_[at] = read_only ? bytes : 0;
    const int rights = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    return ::mprotect(at, bytes, rights) == 0 ? result<void>() : system_failure("mprotect", errno);
  }
  [[nodiscard]] result<void> map_peer(std::byte* at, std::uint64_t bytes, int descriptor,
                                      bool writable) override {
    if (auto mapped = map(at, bytes, descriptor); !mapped || writable) return mapped;
    return ::mprotect(at, bytes, PROT_READ) == 0 ? result<void>()
                                                 : system_failure("mprotect", errno);
  }
  [[nodiscard]] result<void> unmap_peer(std::byte* at, std::uint64_t bytes) override {
    return unmap(at, bytes);
  }
  /// Takes as long as a test says for more than a worker begins with.
  [[nodiscard]] result<void> share(std::byte*, std::uint64_t bytes) override {
    const char* const ms = std::getenv("TROUPE_TEST_SHARE_MS");  // NOLINT(concurrency-mt-unsafe)
    if (ms != nullptr && bytes > (std::uint64_t{32} << 20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(ms)));
    }
    return {};
  }
  [[nodiscard]] result<std::unique_ptr<accelerator_lane>> make_lane(int number) override {
    return queues_.make_lane(number);
  }

  /// A kernel's write: it loses the context if it is not allowed.
  void write(std::byte* at) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [begin, bytes] : read_only_) {
        if (at >= begin && at < begin + bytes) return queues_.lose();
      }
    }
    *reinterpret_cast<volatile std::byte*>(at) = std::byte{1};
  }

 private:
  bool in_program_;  // its addresses are reserved
  fake_accelerator queues_;
  std::mutex mutex_;
  std::map<std::byte*, std::uint64_t> read_only_;  // bytes; 0 for what was thawed
};

// A worker has one. In the program there may be several, and faults are asked of none of them.
std::atomic<queue_device*> the_device = nullptr;

// The CPU backend's operations, to be called by the queues' threads.
const operation_table& cpu_operations() {
  static const operation_table table = [] {
    Dl_info self{};
    ::dladdr(reinterpret_cast<const void*>(&cpu_operations), &self);
    const auto folder = std::filesystem::canonical(self.dli_fname).parent_path();
    void* const plugin =
        ::dlopen((folder / "../troupe/libtroupe-cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    operation_table filled;
    if (plugin == nullptr) return filled;
    reinterpret_cast<void (*)(operation_table&)>(::dlsym(plugin, "troupe_backend_operations"))(
        filled);
    return filled;
  }();
  return table;
}

/// The context of the CPU's executors: they have no workspace here.
class queue_context final : public lane_context {
 public:
  [[nodiscard]] int lane() const noexcept override { return 0; }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override {
    room_.resize(bytes);
    return std::span(room_);
  }
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    host_room_.resize(bytes);
    return std::span(host_room_);
  }

 private:
  std::vector<std::byte> room_;
  std::vector<std::byte> host_room_;
};

void fail(std::byte* reply, errc code) {
  auto& slot = *reinterpret_cast<wire::reply_slot*>(reply - offsetof(wire::reply_slot, bytes));
  slot.code = static_cast<std::uint16_t>(code);
  slot.reply_bytes = 0;
}

// `Late`: a failure shows when the queue runs it.
template <request R, bool Late = false>
void add(operation_table& table) {
  table.insert({.type = &request_type_of<R>(),
                .run = [](void*, const void* request, lane_context& where,
                          std::byte* reply) -> result<void> {
                  static_cast<fake_lane&>(where).enqueue(
                      [r = *static_cast<const R*>(request), reply, number = where.sequence()] {
                        queue_context context;
                        context.set_sequence(number);
                        const operation* cpu = cpu_operations().find(request_type_of<R>().id);
                        const testing_worker::reply_turn here(reply);
                        const auto outcome = cpu->run(cpu->executor, &r, context, reply);
                        if (!outcome && Late) fail(reply, outcome.error().code);
                      });
                  return {};
                },
                .fails_late = Late});
}

result<void> inject(void*, const void* request, lane_context& where, std::byte*) {
  const auto& r = *static_cast<const fault::inject*>(request);
  auto& lane = static_cast<fake_lane&>(where);
  switch (r.what) {
    case fault::kind::segmentation_fault:
    case fault::kind::abort:
    case fault::kind::exit:
    case fault::kind::kill:
    case fault::kind::exception:
      worker::fault_process(r.what);
      break;
    case fault::kind::out_of_memory:
      return error{.code = errc::out_of_memory, .message = "injected"};
    case fault::kind::invalid_launch:
      return error{.code = errc::library_error, .message = "injected"};
    case fault::kind::hang:
      lane.enqueue([&lane] {
        while (!lane.ended())
          std::this_thread::sleep_for(1ms);
      });
      break;
    case fault::kind::spin:
      lane.enqueue([=] { std::this_thread::sleep_for(std::chrono::nanoseconds(r.duration_ns)); });
      break;
    case fault::kind::write_frozen:
      lane.enqueue([at = r.target.address()] { the_device.load()->write(at); });
      break;
    case fault::kind::trap:
    case fault::kind::stack_overflow:
    case fault::kind::unmapped_address:
    case fault::kind::misaligned_address:
    case fault::kind::failed_assertion:
      lane.enqueue([&lane] { lane.device().lose(); });
      break;
    case fault::kind::withdraw:
      return error{.code = errc::unsupported, .message = "no library's kernels run here"};
  }
  return {};
}

result<void> spin_until(void*, const void* request, lane_context& where, std::byte*) {
  auto& lane = static_cast<fake_lane&>(where);
  lane.enqueue([&lane, r = *static_cast<const fault::spin_until*>(request)] {
    const auto enough = std::chrono::steady_clock::now() + std::chrono::nanoseconds(r.at_most_ns);
    const std::atomic_ref flag(*r.flag.data<std::uint32_t>());
    while (flag.load(std::memory_order_acquire) == 0 && !lane.ended() &&
           std::chrono::steady_clock::now() < enough)
      std::this_thread::yield();
    if (r.output.null() || lane.ended()) return;
    float* const output = r.output.data<float>();
    for (std::int64_t i = 0; i < r.output.count(); ++i)
      output[i] = static_cast<float>(r.value) + (r.add ? output[i] : 0.0F);
  });
  return {};
}

}  // namespace
}  // namespace troupe::gpu_test

extern "C" {

TROUPE_EXPORT void troupe_backend_devices(std::vector<troupe::device_description>& found,
                                          troupe::result<void>&) {
  found = {troupe::gpu_test::queue_source(0).description()};
}

TROUPE_EXPORT void troupe_backend_open(std::int32_t ordinal,
                                       std::shared_ptr<troupe::device_source>& opened,
                                       troupe::result<void>&) {
  opened = std::make_shared<troupe::gpu_test::queue_source>(ordinal);
}

TROUPE_EXPORT void troupe_backend_accelerator(const troupe::accelerator_config& config,
                                              std::unique_ptr<troupe::accelerator>& made,
                                              troupe::result<void>&) {
  auto device = std::make_unique<troupe::gpu_test::queue_device>(config.in_program, config.blobs);
  troupe::gpu_test::the_device = device.get();
  made = std::move(device);
}

TROUPE_EXPORT void troupe_backend_operations(troupe::operation_table& table) {
  using namespace troupe;
  gpu_test::add<blas::axpy>(table);
  gpu_test::add<blas::scal>(table);
  gpu_test::add<blas::dot>(table);
  gpu_test::add<blas::asum>(table);
  gpu_test::add<blas::gemm>(table);
  gpu_test::add<blas::gemm_batched>(table);
  gpu_test::add<memory::copy>(table);
  gpu_test::add<memory::fill>(table);
  gpu_test::add<memory::set_bytes>(table);
  gpu_test::add<collective::all_reduce, true>(table);
  gpu_test::add<collective::broadcast, true>(table);
  gpu_test::add<collective::exchange, true>(table);
  gpu_test::add<collective::barrier, true>(table);
  recordable_operations can(table);
  can.be<blas::axpy, blas::scal, blas::dot, blas::asum, blas::gemm, memory::copy, memory::fill>();
  table.insert({.type = &request_type_of<fault::inject>(), .run = &gpu_test::inject});
  table.insert({.type = &request_type_of<fault::spin_until>(), .run = &gpu_test::spin_until});
}
}
