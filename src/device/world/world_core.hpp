#pragma once

#include "device/local/local_device.hpp"
#include "device/supervision/request_watch.hpp"
#include "device/world/world_driver.hpp"
#include "device/world/world_transport.hpp"
#include "wire/world_words.hpp"

#include <troupe/device/world_config.hpp>
#include <troupe/request/world_part.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A world: sends the parts of its requests, and follows the operations under way.
///
/// `order_`, one of each system, is held while the parts of a request are published, so all
/// requests for several devices have one order, which each device's tickets agree with. A part
/// waits only for requests of its own device that are earlier, and for the other parts of its
/// request; so no two wait for each other.
///
/// An operation of which a part has failed is *dropped* (`wire::world_page`) once it is the first
/// of the world that has not ended on all ranks.
class world_core final : public request_watch, public std::enable_shared_from_this<world_core> {
 public:
  /// \errors `invalid_argument` for no device, a device twice, or too small a staging memory;
  /// `unsupported` for more than `wire::max_peers`, and for devices that cannot be in a world;
  /// `out_of_memory`
  [[nodiscard]] static result<std::shared_ptr<world_core>> create(
      std::vector<std::shared_ptr<local_device>> devices, const world_config& config,
      std::shared_ptr<std::mutex> order);
  ~world_core() override;
  world_core(const world_core&) = delete;
  world_core& operator=(const world_core&) = delete;

  [[nodiscard]] const std::vector<std::shared_ptr<local_device>>& devices() const noexcept {
    return devices_;
  }
  [[nodiscard]] const world_config& config() const noexcept { return config_; }
  [[nodiscard]] const std::shared_ptr<std::mutex>& order() const noexcept { return order_; }
  [[nodiscard]] completion_driver& driver() noexcept { return *driver_; }

  /// Publishes a request on all devices or, if one refuses it, on none. `done` is called once, at
  /// once if it is refused; it may be empty. Overwrites `part`, which is in the request.
  result<void> send(const request_type& type, void* request, world_part& part,
                    const request_options& options, detail::completion done);
  [[nodiscard]] world_health health() const;
  /// Maps a tensor of a rank in the workers of all others, which they do otherwise when a request
  /// names it first.
  void map_ahead(const any_tensor& of);

  /// Answers callers at their deadlines, and gives an operation up whose parts run for too long.
  [[nodiscard]] clock::time_point look(clock::time_point now) override;

 private:
  /// How an operation is shown.
  struct in_short {
    std::uint64_t number = 0;
    const request_type* type = nullptr;
    std::vector<bool> has_ended;
    std::vector<device_endpoint::sent_request> parts;
  };
  struct operation : in_short {    // no parts until all are published
    std::size_t left = 0;          // parts that have not ended
    std::uint64_t connection = 0;  // of NCCL
    std::optional<error> failure;  // the first
    std::size_t failed_on = 0;     // rank
    detail::completion done;
    std::optional<clock::time_point> deadline;
    std::optional<clock::time_point> all_begun;
    std::optional<clock::time_point> given_up;  // when its ranks were last told to leave
    bool is_hang = false;
    std::vector<std::size_t> stuck;  // ranks that did not leave
  };

  world_core(std::vector<std::shared_ptr<local_device>> devices, const world_config& config,
             std::shared_ptr<std::mutex> order);
  [[nodiscard]] result<void> allocate_words();
  [[nodiscard]] result<void> map_all();
  [[nodiscard]] result<void> connect_at_once();
  void connect_again();
  [[nodiscard]] result<void> check(const request_type& type, const void* request,
                                   const request_options& options) const;
  [[nodiscard]] result<std::vector<prepared_request>> prepare(const request_type& type,
                                                              const void* request,
                                                              world_part& part);
  [[nodiscard]] bool may_wait(const error& refusal) const;
  void begin(const request_type& type, const world_part& part, detail::completion&& done,
             std::optional<clock::time_point> deadline);
  void publish(std::vector<prepared_request>&& parts, bool awaited);
  void part_has_ended(std::uint64_t number, std::size_t rank, const error* failure);
  [[nodiscard]] operation* find(std::uint64_t number) noexcept;
  void drop(std::uint64_t number) noexcept;
  [[nodiscard]] error failure_of(const operation& failed) const;
  void check_run(const in_short& first, clock::time_point now);
  [[nodiscard]] std::vector<std::pair<detail::completion, error>> take_late(clock::time_point now);
  void schedule_look(std::optional<clock::time_point> deadline);
  void give_up(operation& one, const std::vector<world_operation::progress>& ranks,
               clock::time_point now);
  [[nodiscard]] std::vector<world_operation::progress> progress_of(const in_short& one) const;
  [[nodiscard]] wire::world_page& page() const noexcept {
    return *reinterpret_cast<wire::world_page*>(page_.address());
  }

  struct let_go {
    void operator()(world_driver* d) const noexcept { d->release(); }
  };

  const std::vector<std::shared_ptr<local_device>> devices_;  // by rank
  const world_config config_;
  const std::chrono::nanoseconds limit_;
  const std::chrono::nanoseconds look_interval_;
  const std::shared_ptr<std::mutex> order_;
  const bool through_host_;  // some ranks cannot read each other's memory
  world_transport transport_;
  const std::unique_ptr<world_driver, let_go> driver_;
  std::vector<any_tensor> words_;  // by rank; each part keeps them, too
  any_tensor page_;
  std::uint64_t next_ = 1;  // number of the next operation; written with `order_` and `mutex_`

  mutable std::mutex mutex_;  // guards the next four; a leaf
  std::deque<operation> under_way_;
  std::uint64_t failed_ = 0;
  std::optional<error> last_failure_;
  clock::time_point next_look_ = clock::time_point::max();
};

}  // namespace troupe
