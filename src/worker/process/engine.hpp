#pragma once

#include "os/shared_memory.hpp"
#include "os/unique_fd.hpp"
#include "wire/codec.hpp"
#include "worker/graphs/graph_book.hpp"
#include "worker/plugins/missing_library.hpp"

#include <troupe/base/result.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::worker {

/// A backend loaded into this process, with the memory that its requests may name.
///
/// Used by the control thread. Lanes concurrently use the accelerator and `memory_version`.
class engine {
 public:
  struct config {
    std::string plugin{};     ///< the backend's; may be empty
    std::string device{};     ///< which device of an accelerator; empty without one
    std::string libraries{};  ///< enabled ones, separated by spaces; empty for all
    bool fault_injection = false;
    wire::address_ranges ranges{};
    /// A worker process maps the memory that it is given; in the program it is mapped already.
    bool in_process = true;
    void (*add_own)(operation_table&) = nullptr;
    std::vector<std::string> user_plugins{};  ///< absolute paths
    library_methods methods{};
    std::shared_ptr<kept_blobs> blobs{};
  };

  /// Loads the plugin and, if it has one, creates its accelerator.
  /// \errors `library_missing`; those of the accelerator and of `load_user_plugins`
  [[nodiscard]] static result<std::unique_ptr<engine>> bring_up(const config& c);

  /// Names the address range of a peer, before any of it is mapped.
  [[nodiscard]] result<void> add_peer(wire::pool_number pool, const wire::address_range& range);
  /// Maps a piece of memory at its place; that of a peer to be read only, unless it is `writable`.
  [[nodiscard]] result<void> map(wire::pool_number pool, std::uint64_t offset, std::uint64_t bytes,
                                 const os::unique_fd& memory, bool writable = false);
  [[nodiscard]] result<void> unmap(wire::pool_number pool, std::uint64_t offset,
                                   std::uint64_t bytes);
  /// Makes host memory accessible to the accelerator, from the end of the last call up to `end`.
  [[nodiscard]] result<void> share_up_to(std::uint64_t end);
  /// Makes memory outside of the ranges accessible to the accelerator.
  [[nodiscard]] result<void> share(std::byte* at, std::uint64_t bytes);
  [[nodiscard]] result<void> protect(std::uint64_t offset, std::uint64_t bytes, bool read_only);

  /// The program numbers the changes of its memory, and each request names the number up to which
  /// they must have been made before it runs.
  void set_memory_version(std::uint64_t version) noexcept {
    // Release: a thread that sees the number may use the mappings made before.
    memory_version_.store(version, std::memory_order_release);
  }
  [[nodiscard]] const std::atomic<std::uint64_t>& memory_version() const noexcept {
    return memory_version_;
  }

  [[nodiscard]] const wire::address_ranges& ranges() const noexcept { return config_.ranges; }
  [[nodiscard]] const std::shared_ptr<kept_blobs>& blobs() const noexcept { return config_.blobs; }
  [[nodiscard]] library_methods methods() const noexcept { return config_.methods; }
  [[nodiscard]] const operation_table& operations() const noexcept { return operations_; }
  [[nodiscard]] graph_book& graphs() noexcept { return *graphs_; }
  /// The libraries whose plugins cannot be loaded.
  [[nodiscard]] const std::vector<missing_library>& missing() const noexcept { return missing_; }
  /// Makes the backend do a little work, which shows that it functions. If the worker must be
  /// `warm`, every library works too, on each of the lanes that programs use first, so that the
  /// first requests find everything loaded.
  [[nodiscard]] result<void> warm_up(bool warm);
  /// The work that each of those lanes must still run for the worker to be warm; empty if it is.
  [[nodiscard]] const std::vector<warm_up_lane*>& still_cold() const noexcept { return cold_; }
  static constexpr std::size_t warm_lanes = 4;
  /// The lanes made so far, by number.
  [[nodiscard]] std::vector<std::unique_ptr<accelerator_lane>> take_lanes() noexcept {
    return std::move(lanes_);
  }
  /// Null for a backend whose calls return when the work is done.
  [[nodiscard]] troupe::accelerator* accelerator() const noexcept { return accelerator_.get(); }

 private:
  explicit engine(config c) : config_(std::move(c)) {}
  [[nodiscard]] std::byte* at(wire::pool_number pool, std::uint64_t offset) const noexcept {
    return config_.ranges[pool].base + offset;
  }
  [[nodiscard]] result<void> check_range(wire::pool_number pool, std::uint64_t offset,
                                         std::uint64_t bytes) const;

  config config_;
  operation_table operations_;
  std::unique_ptr<graph_book> graphs_;
  std::unique_ptr<troupe::accelerator> accelerator_;
  warm_up_lane* warm_up_ = nullptr;
  std::vector<warm_up_lane*> library_warm_ups_;
  std::vector<warm_up_lane*> cold_;
  std::vector<missing_library> missing_;
  std::vector<std::unique_ptr<accelerator_lane>> lanes_;
  std::uint64_t shared_end_ = 0;
  std::atomic<std::uint64_t> memory_version_{0};
};

}  // namespace troupe::worker
