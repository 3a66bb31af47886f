#pragma once

#include "device/completion/reactor.hpp"
#include "device/copy/copy_pool.hpp"
#include "device/endpoint.hpp"
#include "device/local/device_guard.hpp"
#include "device/local/device_lanes.hpp"
#include "device/local/ending_devices.hpp"
#include "device/local/prepared_request.hpp"
#include "device/local/sibling_devices.hpp"
#include "device/mailbox/mailbox.hpp"
#include "device/mailbox/operands.hpp"
#include "device/mailbox/valid_requests.hpp"
#include "device/supervision/supervisor.hpp"
#include "memory/memory_pool.hpp"

#include <troupe/core/metrics_config.hpp>
#include <troupe/device/config.hpp>
#include <troupe/device/world_config.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class fault_keeper;

/// A device of this machine, behind which workers come and go. Owns the mailbox, the memory, the
/// reactor and the supervisor, and joins them; sends requests.
class local_device final : public device_endpoint, public peer_memory {
 public:
  [[nodiscard]] static result<std::shared_ptr<local_device>> create(
      std::int32_t ordinal, const device_config& config, std::shared_ptr<memory_pool> host_memory,
      std::span<const std::string> uuids_in_use = {}, const metrics_config& metrics = {});
  /// The same with a backend that was chosen, in an environment that a test may simulate.
  [[nodiscard]] static result<std::shared_ptr<local_device>> create_with(
      chosen_backend backend, std::int32_t ordinal, const device_config& config,
      std::shared_ptr<memory_pool> host_memory, supervisor_environment& environment,
      const metrics_config& metrics = {});
  ~local_device() override;

  result<sent_request> send(const request_type& type, const void* request,
                            const request_options& options, completion&& done, manner how) override;
  [[nodiscard]] std::optional<error> refusal_of(const request_type& type) const override;
  void open(std::uint16_t slot) noexcept override;
  /// The first phase of sending a part of a request for several devices: all that can refuse it. It
  /// is prepared on all of them before it is published on any. Its lane is `wire::world_lane`, and
  /// it has no run limit: its peers may be late. `number` is that of the request in its world.
  /// Precondition: the request is valid. Until it is published or dropped, freezes and thaws of
  /// this device wait, so its sender must not wait for another device: it drops all to try again.
  [[nodiscard]] result<prepared_request> prepare_part(const request_type& type, const void* request,
                                                      std::uint64_t number);
  /// The second phase: its place in the order. Cannot fail. `awaited`: a thread waits for all
  /// parts.
  sent_request publish(prepared_request&& made, completion&& done, bool awaited = true) noexcept;
  [[nodiscard]] future<bool> cancel(sent_request one) override;
  [[nodiscard]] bool would_wait() noexcept override;
  [[nodiscard]] std::uint64_t next_ticket() const noexcept override {
    return requests_->next_ticket();
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept override { return requests_->capacity(); }
  [[nodiscard]] library_lanes lanes_of(std::string_view library) override;
  [[nodiscard]] library_lanes new_lanes_of(std::string_view library, int n) override;
  [[nodiscard]] std::uint8_t lane_for(const request_type& type) override;

  [[nodiscard]] result<detail::buffer_ref> allocate(memory_space space, std::uint64_t bytes,
                                                    placement where = placement{}) override;
  [[nodiscard]] memory_pool& memory() noexcept override { return *device_memory_; }
  [[nodiscard]] const std::shared_ptr<memory_pool>& shared_memory() const noexcept {
    return device_memory_;
  }
  [[nodiscard]] memory_pool& host_memory() noexcept override { return *host_memory_; }
  void await_senders() const noexcept override;
  [[nodiscard]] std::uint64_t free_bytes() const override;
  [[nodiscard]] future<void> protect(detail::buffer_ref buffer, bool read_only) override {
    return supervisor_->protect(std::move(buffer), read_only);
  }
  [[nodiscard]] taint_cause tainted_by(const any_tensor& t) override;
  [[nodiscard]] copy_pool& copiers() noexcept override { return *copiers_; }

  [[nodiscard]] std::optional<std::uint8_t> take_mapping_lane() noexcept override {
    return lanes_.take_for_mapping();
  }
  void leave_mapping_lane(std::uint8_t lane) noexcept override { lanes_.leave_mapping(lane); }
  void wake_worker() noexcept override { requests_->wake_worker(); }
  void expect_graphs(std::uint8_t lane) noexcept override { requests_->expect_graphs(lane); }
  void note_unmapped(std::uint64_t ticket, const any_tensor& t, const std::byte* at,
                     access role) noexcept override;

  /// Lets this device's workers read another one's memory, if it `is_direct`: a GPU's slab by slab,
  /// once a request names it. \errors `unsupported` beyond 63 peers
  [[nodiscard]] result<void> map_peer(const std::shared_ptr<memory_pool>& peer, bool is_direct);
  [[nodiscard]] wire::pool_number number_of(const memory_pool& peer) const override;
  void reach(const detail::buffer& of, wire::pool_number pool) override {
    reach_slab(of, pool, false);
  }
  /// Maps words of a world, which are a peer's memory, to be written. Its slab is its own.
  void reach_words(const any_tensor& of);
  /// How far the worker has come with the part of an operation.
  [[nodiscard]] world_operation::progress progress_of(sent_request one);
  /// Ends the worker if it runs this request, which then fails with this error for good.
  void end_running(sent_request one, error why);
  void watch_with(std::weak_ptr<request_watch> watch) { supervisor_->watch_with(std::move(watch)); }
  void watch_at(std::chrono::steady_clock::time_point at) noexcept;

  [[nodiscard]] std::int32_t ordinal() const noexcept override { return ordinal_; }
  [[nodiscard]] const device_description& description() const noexcept override {
    return description_;
  }
  [[nodiscard]] device_state state() const noexcept override { return supervisor_->state(); }
  [[nodiscard]] std::uint64_t generation() const noexcept override {
    return supervisor_->generation();
  }
  [[nodiscard]] device_health health() const override { return supervisor_->health(); }
  [[nodiscard]] device_statistics statistics() const override;
  [[nodiscard]] device_telemetry telemetry() const override;
  [[nodiscard]] std::optional<pid_t> worker_pid() const noexcept override {
    return supervisor_->worker_pid();
  }
  [[nodiscard]] std::vector<quarantined_request> quarantine() const override {
    return completions_->quarantine().list();
  }
  bool forgive(std::optional<std::uint64_t> request) override;
  [[nodiscard]] std::vector<device_event> events(std::uint64_t after) const override;
  [[nodiscard]] any_actor_ref guard() const override { return guards_->current(); }
  void watch_generation(supervisor::generation_watcher watcher) override {
    supervisor_->watch(std::move(watcher));
  }
  bool execute(unique_function<void()> f) override { return supervisor_->execute(std::move(f)); }
  void look_until(unique_function<bool()> f) override { supervisor_->look_until(std::move(f)); }
  bool drain(std::chrono::nanoseconds timeout) override;
  void stop(error reason) override { supervisor_->stop(std::move(reason)); }
  [[nodiscard]] result<void> restart() override { return supervisor_->restart(); }
  [[nodiscard]] future<void> renew(const renew_options& how) override;

  [[nodiscard]] const device_config& config() const noexcept { return config_; }

  // For its owner and for tests.
  /// Sets the counter of its end. Once, before the device is shared.
  void set_ends(std::shared_ptr<ending_devices> ends) { ends_ = std::move(ends); }
  /// The devices of its system, until that has shut down. Set once, before the device is shared.
  [[nodiscard]] std::shared_ptr<sibling_devices> siblings() const { return siblings_.lock(); }
  void set_siblings(const std::shared_ptr<sibling_devices>& all) { siblings_ = all; }
  [[nodiscard]] const flight_recorder* recorder() const noexcept { return recorder_.get(); }
  [[nodiscard]] event_journal& journal() noexcept { return journal_; }
  /// Its place in the tree of actors. Set once, before the device is shared.
  void set_guards(std::shared_ptr<device_guards> guards);
  [[nodiscard]] supervisor& supervision() noexcept { return *supervisor_; }
  [[nodiscard]] reactor& completions() noexcept { return *completions_; }

 private:
  friend class fault_keeper;
  friend class prepared_request;
  struct known_peer {
    std::shared_ptr<memory_pool> pool;
    bool is_direct = true;                   // its memory may be mapped
    std::map<std::uint64_t, bool> writable;  // slabs that are mapped, by offset
  };
  using deadline = std::optional<std::chrono::steady_clock::time_point>;

  /// Frees the device: on a thread of its own if a continuation holds the last reference, because
  /// the destructor waits for the device's thread, which runs that continuation or waits for it.
  static void let_go(local_device* unused) noexcept;

  local_device(std::int32_t ordinal, device_config config, std::shared_ptr<memory_pool> host_memory,
               const metrics_config& metrics) noexcept;

  [[nodiscard]] result<void> build(chosen_backend backend, supervisor_environment& environment);
  [[nodiscard]] result<void> make_ready(prepared_request& made, const request_type& type,
                                        const void* request, const request_options& options,
                                        manner how);
  void note_refusal(prepared_request& made, const request_type& type, const void* request,
                    error& why);
  [[nodiscard]] result<void> write_part(prepared_request& made, const request_type& type,
                                        const void* request, std::uint64_t number);
  void note_rare(prepared_request& made, const request_type& type, const request_options& options,
                 manner how) const;
  [[nodiscard]] result<void> fill(prepared_request& made, const request_type& type,
                                  const void* request, const request_options& options, manner how);
  [[nodiscard]] std::optional<error> not_taken(const request_type& type,
                                               const request_options& options) const;
  [[nodiscard]] std::optional<error> not_enabled(const request_type& type) const;
  [[nodiscard]] result<void> write(prepared_request& made, const request_type& type,
                                   const void* request, deadline until, if_full full);
  [[nodiscard]] result<std::size_t> encode_after_others(record& r, const request_type& type,
                                                        const void* request,
                                                        std::span<std::byte> to,
                                                        checked_operands& operands);
  [[nodiscard]] result<void> check(const request_type& type, const void* request,
                                   std::span<const std::byte> bytes);
  [[nodiscard]] result<void> admit(std::uint16_t slot);
  void begin_journals();
  void begin_note(std::uint16_t slot) noexcept;
  void make_checkpoint() noexcept;
  sent_request publish_now(prepared_request& made, completion&& done,
                           std::optional<wire::end_mark> mark = std::nullopt) noexcept;
  void abandon_slot(std::uint16_t slot) noexcept;
  void cancel_on_stop(sent_request sent, const std::stop_token& stop);
  [[nodiscard]] bool cancel_at_once(sent_request one);
  [[nodiscard]] result<renewal::rest> send_rest();

  /// Waits until `take` has taken a slot, or heap space for a long request.
  [[nodiscard]] result<void> await_capacity(deadline until, if_full full,
                                            const std::function<bool()>& take);
  [[nodiscard]] result<void> take_heap(std::uint16_t slot, std::size_t bytes, deadline until,
                                       if_full full);
  template <class Use>
  void with_request(std::uint16_t slot, Use&& use) const;
  void complete_error(std::uint16_t slot, error& failure);
  void reach_slab(const detail::buffer& of, wire::pool_number pool, bool writable);
  void forget_slab(const memory_pool& peer, const slab_place& removed);
  [[nodiscard]] device_statistics statistics_of(const outcome_counts::reading& ended) const;
  [[nodiscard]] bool keeps_outputs(std::uint16_t slot, errc code) const;

  const std::int32_t ordinal_;
  const device_config config_;
  const metrics_config metrics_;
  device_description description_;  // set once, before the device is shared
  const std::shared_ptr<memory_pool> host_memory_;
  std::shared_ptr<memory_pool> device_memory_;
  std::unique_ptr<copy_pool> copiers_;
  std::shared_ptr<device_guards> guards_;
  std::shared_ptr<ending_devices> ends_;
  std::weak_ptr<sibling_devices> siblings_;
  std::shared_ptr<mailbox> requests_;
  os::unique_fd blobs_;                        // the blobs of workers: see `wire::blob_memory`
  std::shared_ptr<flight_recorder> recorder_;  // null: it records nothing
  event_journal journal_{ordinal_};
  std::unique_ptr<journal::request_notes> notes_;  // null: the device has no journal
  std::unique_ptr<fault_keeper> faults_;           // null: it keeps no faults
  reactor::handle completions_;
  valid_requests valid_;
  device_lanes lanes_;
  std::mutex meeting_mutex_;        // held while a peer is added; before the next one
  mutable std::mutex peers_mutex_;  // guards the next one, whose elements stay; a leaf
  std::vector<known_peer> peers_;   // by pool number, from `first_peer_pool` on

  // Last: its thread uses everything above and ends first.
  std::unique_ptr<supervisor> supervisor_;
};

}  // namespace troupe
