#include "worker/process/engine.hpp"

#include "base/scratch.hpp"
#include "worker/plugins/backend.hpp"
#include "worker/plugins/user_plugins.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

namespace troupe::worker {

result<std::unique_ptr<engine>> engine::bring_up(const config& c) {
  std::unique_ptr<engine> made(new engine(c));
  operation_table all;
  std::string part;
  if (!c.plugin.empty()) {
    const wire::address_range& memory = c.ranges[wire::device_pool];
    auto loaded = load_backend(c.plugin,
                               {.device = c.device,
                                .memory_base = memory.base,
                                .memory_bytes = memory.mapped_bytes,
                                .in_program = !c.in_process,
                                .blobs = c.blobs,
                                .methods = c.methods},
                               c.libraries, all);
    if (!loaded) return std::move(loaded).error();
    made->accelerator_ = std::move(loaded->accelerator);
    made->warm_up_ = loaded->warm_up;
    made->library_warm_ups_ = std::move(loaded->library_warm_ups);
    made->missing_ = std::move(loaded->missing);
    part = std::move(loaded->name);
  }
  if (c.add_own != nullptr) c.add_own(all);
  auto brought = load_user_plugins(c.user_plugins, part, all);
  if (!brought) return std::move(brought).error();
  made->library_warm_ups_.insert(made->library_warm_ups_.end(), brought->begin(), brought->end());
  made->operations_ = choose_operations(all, c.libraries, c.fault_injection);
  made->graphs_ = std::make_unique<graph_book>(made->operations_, made->accelerator_.get());
  made->graphs_->add_to(made->operations_);
  return made;
}

namespace {

/// The lane for the warm-up of a backend whose calls return when the work is done.
class plain_lane final : public lane_context {
 public:
  plain_lane(std::shared_ptr<kept_blobs> blobs, library_methods methods) noexcept
      : blobs_(std::move(blobs)), methods_(methods) {}

  [[nodiscard]] int lane() const noexcept override { return 0; }
  [[nodiscard]] std::shared_ptr<kept_blobs> blobs() const override { return blobs_; }
  [[nodiscard]] library_methods methods() const noexcept override { return methods_; }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override {
    return workspace_.take(bytes);
  }
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return host_room_.take(bytes);
  }

 private:
  std::shared_ptr<kept_blobs> blobs_;
  library_methods methods_;
  detail::scratch workspace_;
  detail::scratch host_room_;
};

result<void> run(std::span<warm_up_lane* const> steps, lane_context& lane) {
  result<void> outcome;
  for (warm_up_lane* const step : steps) {
    if (!outcome) break;
    step(lane, outcome);
  }
  return outcome;
}

}  // namespace

result<void> engine::warm_up(bool warm) {
  std::vector<warm_up_lane*> own;
  if (warm_up_ != nullptr) own.push_back(warm_up_);
  std::vector<warm_up_lane*> all = own;
  all.insert(all.end(), library_warm_ups_.begin(), library_warm_ups_.end());
  if (!accelerator_) {
    plain_lane lane(config_.blobs, config_.methods);
    return run(all, lane);
  }
  for (std::size_t number = 0; number < (warm ? warm_lanes : 1); ++number) {
    auto made = accelerator_->make_lane(static_cast<int>(number));
    if (!made) return std::move(made).error();
    if (auto done = run(warm ? all : own, **made); !done) return done;
    if (auto done = (*made)->finish(); !done) return done;
    lanes_.push_back(*std::move(made));
  }
  if (!warm) cold_ = std::move(all);
  return {};
}

result<void> engine::add_peer(wire::pool_number pool, const wire::address_range& range) {
  if (config_.ranges[pool].base != nullptr || range.base == nullptr) return {};
  config_.ranges[pool] = range;
  return accelerator_ ? accelerator_->add_peer(range.base, range.mapped_bytes) : result<void>();
}

result<void> engine::check_range(wire::pool_number pool, std::uint64_t offset,
                                 std::uint64_t bytes) const {
  const auto& [base, all] = config_.ranges[pool];
  if (base != nullptr && offset <= all && bytes <= all - offset) return {};
  return error{.code = errc::protocol_violation,
               .message = fmt::format("{} bytes at {} of memory pool {}, which has {}", bytes,
                                      offset, pool, all)};
}

result<void> engine::map(wire::pool_number pool, std::uint64_t offset, std::uint64_t bytes,
                         const os::unique_fd& memory, bool writable) {
  if (auto within = check_range(pool, offset, bytes); !within) return within;
  const bool is_peer = pool >= wire::first_peer_pool;
  if (pool == wire::device_pool && accelerator_) {
    return accelerator_->map(at(pool, offset), bytes, memory.get());
  }
  if (is_peer && accelerator_) {
    return accelerator_->map_peer(at(pool, offset), bytes, memory.get(), writable);
  }
  if (!config_.in_process) return {};
  if (auto whole = os::check_received(memory, bytes); !whole) return whole;
  auto reserved = os::reserve(at(pool, offset), bytes);
  if (!reserved) return std::move(reserved).error();
  auto mapped = os::map_over(
      memory, bytes, is_peer ? os::protection::read : os::protection::read_write, at(pool, offset));
  // A process that an operation has forked may outlive its worker, and write after the program has
  // given the memory to another owner.
  if (mapped) mapped = os::keep_from_children(at(pool, offset), bytes);
  if (mapped) reserved->release();
  return mapped;
}

result<void> engine::unmap(wire::pool_number pool, std::uint64_t offset, std::uint64_t bytes) {
  if (auto within = check_range(pool, offset, bytes); !within) return within;
  if (pool == wire::device_pool && accelerator_) {
    graphs_->note_unmapped();
    return accelerator_->unmap(at(pool, offset), bytes);
  }
  if (pool >= wire::first_peer_pool && accelerator_) {
    return accelerator_->unmap_peer(at(pool, offset), bytes);
  }
  return error{.code = errc::protocol_violation, .message = "this memory must not be unmapped"};
}

result<void> engine::share_up_to(std::uint64_t end) {
  if (auto within = check_range(wire::host_pool, 0, end); !within) return within;
  if (end <= shared_end_ || !accelerator_) return {};
  auto shared = accelerator_->share(at(wire::host_pool, shared_end_), end - shared_end_);
  if (shared) shared_end_ = end;
  return shared;
}

result<void> engine::share(std::byte* at, std::uint64_t bytes) {
  return accelerator_ ? accelerator_->share(at, bytes) : result<void>();
}

result<void> engine::protect(std::uint64_t offset, std::uint64_t bytes, bool read_only) {
  if (auto within = check_range(wire::device_pool, offset, bytes); !within) return within;
  std::byte* const where = at(wire::device_pool, offset);
  if (accelerator_) return accelerator_->protect(where, bytes, read_only);
  return os::protect(where, bytes, read_only ? os::protection::read : os::protection::read_write);
}

}  // namespace troupe::worker
