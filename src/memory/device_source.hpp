#pragma once

#include <troupe/base/result.hpp>
#include <troupe/base/unique_function.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// The program's side of a backend whose devices have their own memory. It creates no context, so
/// no fault of a worker can reach the program. A plugin exports it as `troupe_backend_devices` and
/// `troupe_backend_open`; a plugin without these serves a device whose memory is the program's.
namespace troupe {

struct device_description;
struct device_link;
struct gpu_sensors;

/// A piece of device memory that the program owns and workers map by its descriptor. It is freed
/// once it is destroyed and no worker maps it any more.
class memory_slab {
 public:
  virtual ~memory_slab() = default;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
};

/// The program's own mapping of a slab, until it is destroyed.
class slab_view {
 public:
  virtual ~slab_view() = default;
  [[nodiscard]] virtual std::byte* address() const noexcept = 0;
};

/// Addresses that are reserved in the program, until it is destroyed.
class address_range {
 public:
  virtual ~address_range() = default;
  [[nodiscard]] virtual std::byte* base() const noexcept = 0;
};

/// How full a device is, counting all processes. Bytes.
struct memory_level {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/// One device as the program sees it. Any thread may call it.
class device_source {
 public:
  virtual ~device_source() = default;

  [[nodiscard]] virtual const device_description& description() const noexcept = 0;
  /// Sizes of slabs are multiples of this, in bytes.
  [[nodiscard]] virtual std::uint64_t granule_bytes() const noexcept = 0;
  /// \errors `out_of_memory` with the bytes requested and free; `device_unavailable`
  [[nodiscard]] virtual result<std::unique_ptr<memory_slab>> allocate(std::uint64_t bytes) = 0;
  /// Maps a slab of this device for the program's own work on it: for the context that is current
  /// on the calling thread. At `wanted` if that is free, else elsewhere.
  /// \errors `invalid_argument` without such a context, or with one of another device; the vendor's
  [[nodiscard]] virtual result<std::unique_ptr<slab_view>> view(const memory_slab& slab,
                                                                std::uint64_t bytes,
                                                                std::byte* wanted, bool writable) {
    (void)slab, (void)bytes, (void)wanted, (void)writable;
    return error{.code = errc::unsupported,
                 .message = "this backend maps no memory for the program"};
  }
  /// Reserves the addresses at which a worker in the program itself maps slabs: a driver in this
  /// process has its own mappings there, and only the driver knows where. Null if such a worker can
  /// map at any free addresses; a worker process reserves its addresses itself.
  [[nodiscard]] virtual result<std::unique_ptr<address_range>> reserve(std::uint64_t bytes) {
    (void)bytes;
    return std::unique_ptr<address_range>();
  }
  /// \errors `unsupported` if that is unknown
  [[nodiscard]] virtual result<memory_level> level() = 0;
  /// Fills in the last reading of its sensors, at most some seconds old, and never waits for the
  /// device. False if there is none: there are no sensors, or the call is the first for a while.
  [[nodiscard]] virtual bool read_sensors(gpu_sensors& into) {
    (void)into;
    return false;
  }
  /// Fills in how worker processes of this device reach the memory of another device of this
  /// backend, which may be on the same GPU. Leaves `found` as it is, without access, if they cannot
  /// map it, or the driver does not say. Creates no context.
  virtual void describe_link(const device_source& owner, device_link& found) {
    (void)owner, (void)found;
  }

  /// Sets a function that is called soon after the device has met a fault, of any process, with the
  /// vendor's number of it (NVIDIA's Xid), from a thread of the backend's own. It must not be
  /// destroyed by that thread. Nothing: the backend need not look for faults until it is set again.
  using alarm = unique_function<void(std::uint64_t fault)>;
  virtual void on_fault(alarm raise) = 0;
  /// True if no process except these has a context on the device. False if that is unknown.
  [[nodiscard]] virtual bool used_only_by(const std::vector<std::int32_t>& pids) = 0;
};

/// Signatures of the two entry points. The first lists all devices, usable or not; the second
/// reports why one cannot be used: \errors `device_unavailable` with the remedy.
using list_devices = void(std::vector<device_description>& found, result<void>& outcome);
using open_device = void(std::int32_t ordinal, std::shared_ptr<device_source>& opened,
                         result<void>& outcome);

}  // namespace troupe
