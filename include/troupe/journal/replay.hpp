#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/device/config.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How a journal (`request_journal`) is replayed: which requests, where, and how they are compared.
struct replay_options {
  /// Tickets of the requests that are compared; those before them run as well, because they make
  /// what these read.
  std::uint64_t from = 0;
  std::uint64_t to = std::numeric_limits<std::uint64_t>::max();
  /// The device of the journal; all of them one after the other if empty.
  std::optional<std::int32_t> device{};
  /// How far an element may lie from the recorded one, relative to the largest of its tensor. If
  /// empty: not at all on the same hardware with the same versions, elsewhere by its type (f64
  /// 1e-10, f32 1e-4, f16 1e-2, bf16 5e-2, 8-bit floats 0.25, integers not at all).
  std::optional<double> tolerance{};
  bool exact = false;  ///< not at all, wherever it runs
  bool stop_at_difference = false;
  /// Goes on where the journal has a gap; its effects may be differences.
  bool over_gaps = false;
  /// Runs each request on a device of this backend, too, and compares all that it writes; both
  /// begin each request with the same data. Finds the request whose kernel differs.
  std::optional<backend_kind> against{};
  /// Variables as "NAME=value" that the workers of the device that replays have beside those of the
  /// program. Those of `against` have not: so two settings can be compared.
  std::vector<std::string> environment{};
  /// The device that replays; `backend_kind::automatic` means that of the journal. Fault injection,
  /// quarantine, restart budget and standby are the replay's.
  device_config on{};
};

/// The first element that differs in a tensor, or an outcome that does.
struct replay_difference {
  std::int32_t device = 0;
  std::uint64_t ticket = 0;
  std::string request{};      ///< as errors show it
  std::string field{};        ///< of the tensor; `outcome` or `reply`
  std::int64_t element = -1;  ///< its number in the tensor, in row-major order; −1 for none
  std::string recorded{};
  std::string replayed{};
};

struct replay_report {
  std::uint64_t requests = 0;  ///< that ran
  /// Requests that did not run because time, a loss or another request decided their outcome:
  /// cancelled, late, aborted, or with tainted inputs.
  std::uint64_t skipped = 0;
  std::uint64_t outcomes = 0;  ///< compared, replies included
  std::uint64_t elements = 0;  ///< compared
  std::uint64_t differing = 0;
  std::vector<replay_difference> differences{};  ///< the first 100
  std::vector<std::string> remarks{};  ///< what the journal lacks, or is not as it was recorded
  bool is_exact = false;               ///< compared bit by bit

  [[nodiscard]] bool equal() const noexcept { return differing == 0; }
  [[nodiscard]] TROUPE_EXPORT std::string text() const;
  [[nodiscard]] TROUPE_EXPORT std::string json() const;
};

/// Runs the requests of a journal again, in their order, on a new device with the recorded data,
/// and compares outcomes, replies, and all data that came back to the program. Waits for its end.
/// Plugins of `replay_options::on` are loaded into this program, too, for their requests.
/// \errors those of `system::device` and `load_plugin_requests`; `system_error` with the path;
/// `invalid_argument` for a file that is no journal, for a gap, for missing data; `unsupported` for
/// a request that this program does not know, one for several devices, and one with a bound set
[[nodiscard]] TROUPE_EXPORT result<replay_report> replay(const std::string& path,
                                                         const replay_options& options = {});

}  // namespace troupe
