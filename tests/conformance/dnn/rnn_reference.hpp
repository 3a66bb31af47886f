#pragma once

#include <troupe/dnn/rnn.hpp>

#include <cstdint>
#include <limits>
#include <vector>

/// Recurrent networks in f64, number by number from the definition. Each number remembers what it
/// was computed from, so that gradients follow from the same definition.
namespace troupe::conformance::rnn_reference {

/// Rows as packed tensors, time first. Missing ones are 0.
struct problem {
  dnn::rnn_network network{};
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  bool training = false;
  std::vector<std::int64_t> lengths{};  ///< one for each sequence
  std::vector<double> x{}, weights{}, h_0{}, c_0{};

  [[nodiscard]] std::int64_t directions() const { return network.bidirectional ? 2 : 1; }
  [[nodiscard]] std::int64_t output() const {
    return network.projection != 0 ? network.projection : network.hidden;
  }
  [[nodiscard]] std::int64_t states() const { return network.layers * directions(); }
};

struct answer {
  std::vector<double> y{}, h_n{}, c_n{};
  /// The least magnitude that a relu was given: gradients jump where that is 0.
  double nearest_kink = std::numeric_limits<double>::max();
};
[[nodiscard]] answer run(const problem& p);

/// The gradients of Σ dy · y + Σ dh_n · h_n + Σ dc_n · c_n.
struct gradients {
  std::vector<double> x{}, weights{}, h_0{}, c_0{};
};
[[nodiscard]] gradients differentiate(const problem& p, const answer& by);

}  // namespace troupe::conformance::rnn_reference
