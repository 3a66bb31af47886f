#pragma once

#include "device/endpoint.hpp"
#include "journal/compare.hpp"
#include "journal/footprint.hpp"
#include "journal/journal_file.hpp"
#include "journal/twin.hpp"

#include <troupe/core/system.hpp>
#include <troupe/journal/replay.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::journal {

/// True for the outcome of a request that its worker did not survive.
[[nodiscard]] bool ends_worker(errc code) noexcept;
/// An outcome as a report shows it.
[[nodiscard]] std::string outcome_text(bool failed, errc code, std::string_view message);

/// The replay of one device of a journal.
class session {
 public:
  session(const journal_file& file, std::int32_t number, const noted_device& of,
          const replay_options& options, replay_report& report);

  [[nodiscard]] result<void> run();

 private:
  struct outcome {
    std::optional<error> failure{};
    std::vector<std::byte> reply{};
  };
  struct running {
    const noted_request* noted = nullptr;
    const request_type* type = nullptr;
    std::shared_ptr<any_request> request;
    std::vector<wire::operand> operands;                      // as recorded
    std::vector<std::pair<std::string, any_tensor>> outputs;  // in host memory, as recorded
    future<outcome> end;
  };
  enum class plan : std::uint8_t { run, run_alone, pass_over };

  [[nodiscard]] result<void> prepare();
  [[nodiscard]] result<const request_type*> type_of(const noted_request& r) const;
  void find_end();
  void find_checkpoint();
  [[nodiscard]] bool is_whole(const checkpoint_note& one) const;
  [[nodiscard]] result<void> restore(const noted_request& r);
  [[nodiscard]] result<void> check_gaps() const;
  [[nodiscard]] static plan plan_of(const noted_request& r) noexcept;
  [[nodiscard]] result<void> step(const noted_request& r);
  [[nodiscard]] result<void> give_contents(const noted_request& r);
  [[nodiscard]] result<void> replay_mapping(const noted_request& r, footprint::decoded& one);
  [[nodiscard]] result<void> run_against(const noted_request& r, const request_type& type);
  [[nodiscard]] result<void> make_twin(device_config config);
  [[nodiscard]] result<void> send(const noted_request& r, const request_type& type,
                                  footprint::decoded&& one);
  [[nodiscard]] bool in_conflict(const running& earlier, const noted_request& r,
                                 const std::vector<wire::operand>& operands) const;
  [[nodiscard]] result<void> settle_one();
  [[nodiscard]] result<void> settle_all();
  [[nodiscard]] result<void> compare_seen(const running& one);
  [[nodiscard]] result<std::optional<std::vector<std::byte>>> recorded_bytes(
      const noted_request& r, std::uint8_t pool, std::uint64_t offset, std::uint64_t bytes) const;
  void note_difference(const noted_request& r, std::string text, std::string field,
                       element_difference what);
  [[nodiscard]] bool is_compared(const noted_request& r) const noexcept {
    return r.about.ticket >= options_.from && r.about.ticket <= options_.to;
  }
  [[nodiscard]] bool is_done() const noexcept {
    return options_.stop_at_difference && report_.differing != 0;
  }
  [[nodiscard]] error unusable(const noted_request& r, errc code, std::string why) const;

  const journal_file& file_;
  const std::int32_t number_;
  const noted_device& of_;
  const replay_options& options_;
  replay_report& report_;
  std::uint64_t last_;                    // ticket that is replayed
  std::optional<checkpoint_note> begin_;  // the replay begins behind it
  closeness how_{};
  footprint memory_;
  std::optional<system> system_;
  std::optional<device> device_;
  std::optional<twin> twin_;
  closeness twin_how_{};
  std::deque<running> running_;
};

}  // namespace troupe::journal
