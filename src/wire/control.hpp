#pragma once

#include "wire/layout.hpp"
#include "wire/pools.hpp"

#include <troupe/request/library_methods.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Messages of the control socket between the supervisor and one worker: everything that is rare.
/// In order: the worker says hello; the program configures it, gives it all memory, protects frozen
/// ranges and says begin; the worker answers ready or failed, and reports when it is warm, perhaps
/// later. After that: changes of memory, serves, ping, failed if its context is lost, and the end
/// of the socket, which ends the worker.
namespace troupe::wire {

enum class control : std::uint32_t {
  hello = 1,     ///< worker → program, first
  configure,     ///< program → worker, with descriptors
  begin,         ///< program → worker, with a number: bring the backend up
  ready,         ///< worker → program, with that number: mapped, loaded, able to serve
  warm,          ///< worker → program: every library is loaded
  failed,        ///< worker → program: cannot be used, with the reason
  missing,       ///< worker → program, before ready: a library cannot be used, with the reason
  map,           ///< program → worker: more memory, with its descriptor
  unmap,         ///< program → worker: less memory
  share,         ///< program → worker: host memory is used up to here
  protect,       ///< program → worker: change the rights of a range
  protect_done,  ///< worker → program: done
  ping,          ///< program → worker
  pong,          ///< worker → program
  serves,        ///< program → worker, with the generation: it has the mailbox
};

struct hello_message {
  control kind = control::hello;
  std::uint32_t protocol = protocol_version;
  std::uint64_t magic_number = magic;
  char library_version[32]{};
};

struct shared_range {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

/// A bound for `configure_message::lane_threads`: more than any machine has processors.
inline constexpr std::uint32_t most_lane_threads = 4096;

/// Its descriptors, in order: mailbox, doorbells, worker segment, the program's eventfd, blob
/// memory.
struct configure_message {
  control kind = control::configure;
  std::uint32_t lane_threads = 0;
  std::uint64_t worker = 0;
  std::uint64_t mailbox_bytes = 0;
  shared_range ranges[pool_count]{};  ///< by pool number; without an address, there is no such pool
  std::uint32_t fault_injection = 0;
  std::uint32_t warm_first = 0;  ///< it must be warm before it is ready
  std::int32_t ordinal = 0;      ///< the device's, for the title of the process
  library_methods methods{};
  char plugin[1024]{};    ///< the backend's path
  char device[64]{};      ///< the backend's device; empty if it has none of its own
  char libraries[512]{};  ///< enabled libraries, separated by spaces; empty for all
  char plugins[4096]{};   ///< paths of the user's plugins, each ended by a zero
};
inline constexpr std::size_t configure_descriptors = 5;

/// `map` with one descriptor, `unmap`, and `share` (then `bytes` from the start of host memory).
struct memory_message {
  control kind{};
  std::uint32_t pool = device_pool;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  /// The number of this change among the changes of all of the device's pools, which a worker makes
  /// in order.
  std::uint64_t version = 0;
  /// For memory of a peer: 1 if this device may write it.
  std::uint64_t writable = 0;
};

struct protect_message {
  control kind = control::protect;
  std::uint32_t read_only = 0;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;  ///< in device memory
  std::uint64_t bytes = 0;
};

/// `begin`, `ready`, `warm`, `protect_done`, `ping`, `pong` and `serves` carry only a number.
struct plain_message {
  control kind{};
  /// For `protect_done`: errno or the driver's code if the system refused the change.
  std::uint32_t code = 0;
  std::uint64_t id = 0;
};

struct failed_message {
  control kind = control::failed;
  /// 1 if the queues failed with the requests in them; 0 if the process failed elsewhere.
  std::uint32_t of_queues = 0;
  reply_slot why;  ///< as a reply carries an error
};

struct missing_message {
  control kind = control::missing;
  char library[60]{};
  char why[1984]{};
};

union any_message {
  control kind;
  hello_message hello;
  configure_message configure;
  memory_message memory;
  protect_message protect;
  plain_message plain;
  failed_message failed;
  missing_message missing;
  any_message() : kind{} {}
};

/// Writes paths into the bytes of a message, each ended by a zero, and zeroes the rest. False if
/// they do not fit, or one is empty or contains a zero.
[[nodiscard]] bool list_paths(std::span<const std::string> paths, std::span<char> to) noexcept;
/// Reads these paths from any bytes: a path without a zero ends with the bytes.
[[nodiscard]] std::vector<std::string> listed_paths(std::span<const char> bytes);

/// Checks that the received bytes are a message of a known kind and have exactly its size, so that
/// every field of it may be read.
/// \errors `protocol_violation` with the kind and the size
[[nodiscard]] result<void> check_whole(const any_message& message, std::size_t received_bytes);

}  // namespace troupe::wire
