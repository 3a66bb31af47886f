#include "backend/cuda/context/device_accelerator.hpp"

#include "backend/cuda/context/loading.hpp"
#include "backend/cuda/context/stream_lane.hpp"
#include "backend/cuda/program/device_check.hpp"
#include "backend/cuda/program/device_list.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::cuda {
namespace {

CUdeviceptr pointer(std::byte* at) noexcept { return reinterpret_cast<CUdeviceptr>(at); }

error unavailable(error why, std::string_view advice) {
  why.code = errc::device_unavailable;
  why.message += fmt::format("; {}", advice);
  return why;
}

}  // namespace

result<std::unique_ptr<device_accelerator>> device_accelerator::make(
    const accelerator_config& config) {
  auto loaded = driver::load();
  if (!loaded) return std::move(loaded).error();
  const driver& d = **loaded;
  auto device = find_device(d, config.device);
  if (!device) return std::move(device).error();

  CUcontext context = nullptr;
  if (auto made = check(d.cuDevicePrimaryCtxRetain(&context, *device), "cuDevicePrimaryCtxRetain");
      !made) {
    return unavailable(std::move(made).error(), how_to_get_a_context(d, *device));
  }
  std::unique_ptr<device_accelerator> made(new device_accelerator(d, *device, context));
  made->blobs_ = config.blobs;
  made->methods_ = config.methods;
  made->enter_thread();
  if (auto asked = check(d.cuDeviceGetAttribute(&made->multiprocessors_,
                                                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, *device),
                         "cuDeviceGetAttribute");
      !asked) {
    return std::move(asked).error();
  }
  if (!config.in_program) {
    if (auto taken = made->take_addresses(config.memory_base, config.memory_bytes); !taken) {
      return std::move(taken).error();
    }
  }
  // While kernels run, loading others may wait for them.
  if (auto loaded_code = load_kernels(); !loaded_code) return std::move(loaded_code).error();
  return made;
}

// In a worker process the process's end does all this. In the program, mapped memory would stay in
// use, and registered addresses could not be reused.
device_accelerator::~device_accelerator() {
  enter_thread();
  shared_.clear();
  for (const auto& [at, bytes] : mapped_)
    (void)driver_.cuMemUnmap(pointer(at), bytes);
}

// Every worker maps memory at the addresses that the program has chosen.
result<void> device_accelerator::take_addresses(std::byte* base, std::uint64_t bytes) {
  CUdeviceptr reserved = 0;
  const CUdeviceptr wanted = pointer(base);
  if (auto taken =
          check(driver_.cuMemAddressReserve(&reserved, bytes, 0, wanted, 0), "cuMemAddressReserve");
      !taken) {
    return unavailable(std::move(taken).error(),
                       fmt::format("{} bytes of addresses at {}", bytes, static_cast<void*>(base)));
  }
  if (reserved == wanted) return {};
  (void)driver_.cuMemAddressFree(reserved, bytes);
  return error{.code = errc::device_unavailable,
               .message = fmt::format("the driver put {} bytes of addresses at {:#x} instead of "
                                      "{:#x}, where something else lies",
                                      bytes, reserved, wanted),
               .library = "cuda",
               .call = "cuMemAddressReserve"};
}

void device_accelerator::enter_thread() { (void)driver_.cuCtxSetCurrent(context_); }

result<void> device_accelerator::map(std::byte* at, std::uint64_t bytes, int descriptor) {
  if (auto mapped = map_memory(at, bytes, descriptor); !mapped) return mapped;
  return give_access(at, bytes, false);
}

result<void> device_accelerator::map_memory(std::byte* at, std::uint64_t bytes, int descriptor) {
  CUmemGenericAllocationHandle memory = 0;
  // The driver takes the descriptor's number as a pointer.
  auto* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  if (auto imported = check(driver_.cuMemImportFromShareableHandle(
                                &memory, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                            "cuMemImportFromShareableHandle");
      !imported) {
    return imported;
  }
  auto mapped = check(driver_.cuMemMap(pointer(at), bytes, 0, memory, 0), "cuMemMap");
  // The mapping keeps the memory.
  (void)driver_.cuMemRelease(memory);
  if (!mapped) return mapped;
  mapped_[at] = bytes;
  return {};
}

// As a whole: the driver (580) ignores the wanted address of a reservation of 2 MiB, a slab's size.
// The length costs nothing: 48 TiB took 12 us.
result<void> device_accelerator::add_peer(std::byte* base, std::uint64_t bytes) {
  return take_addresses(base, bytes);
}

result<void> device_accelerator::map_peer(std::byte* at, std::uint64_t bytes, int descriptor,
                                          bool writable) {
  if (auto mapped = map_memory(at, bytes, descriptor); !mapped) return mapped;
  return give_access(at, bytes, !writable);
}

result<void> device_accelerator::unmap_peer(std::byte* at, std::uint64_t bytes) {
  return unmap(at, bytes);
}

result<void> device_accelerator::unmap(std::byte* at, std::uint64_t bytes) {
  mapped_.erase(at);
  return check(driver_.cuMemUnmap(pointer(at), bytes), "cuMemUnmap");
}

result<void> device_accelerator::protect(std::byte* at, std::uint64_t bytes, bool read_only) {
  return give_access(at, bytes, read_only);
}

result<void> device_accelerator::give_access(std::byte* at, std::uint64_t bytes, bool read_only) {
  const CUmemAccessDesc access{
      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_},
      .flags = read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return check(driver_.cuMemSetAccess(pointer(at), bytes, &access, 1), "cuMemSetAccess");
}

result<void> device_accelerator::share(std::byte* at, std::uint64_t bytes) {
  for (std::byte* const end = at + bytes; at < end;) {
    const std::uint64_t step =
        std::min(bytes_to_registration_boundary(at), static_cast<std::uint64_t>(end - at));
    auto piece = host_registration::make(driver_, at, step);
    if (!piece) return std::move(piece).error();
    shared_.push_back(*std::move(piece));
    at += step;
  }
  return {};
}

result<std::unique_ptr<accelerator_lane>> device_accelerator::make_lane(int number) {
  return stream_lane::make(driver_, number, multiprocessors_, blobs_, methods_);
}

}  // namespace troupe::cuda
