#pragma once

#include <troupe/dnn/computation.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::dnn::detail {

/// The nodes of a computation that a thread builds. Equal ones are one.
class computation_builder {
 public:
  explicit computation_builder(int inputs);
  ~computation_builder();
  computation_builder(const computation_builder&) = delete;
  computation_builder& operator=(const computation_builder&) = delete;

  /// The computation that this thread builds. Throws `failure` if it builds none.
  [[nodiscard]] static computation_builder& current();
  [[noreturn]] static void refuse(std::string message);

  [[nodiscard]] nodes::node input(int number);
  [[nodiscard]] nodes::node add(nodes::kind what, std::uint8_t detail,
                                std::span<const nodes::node> operands,
                                std::vector<std::int64_t> numbers = {});
  [[nodiscard]] computation finish(const std::vector<nodes::node>& outputs);

 private:
  [[nodiscard]] std::uint16_t number_of(const nodes::node& n);
  [[nodiscard]] std::uint16_t add(nodes::entry one);

  std::uint64_t id_;
  computation_builder* outer_;  ///< that the thread goes on with after this
  int inputs_;
  std::vector<nodes::entry> entries_;
  std::vector<scalar> constants_;
  std::map<std::vector<std::int64_t>, std::uint16_t> known_;
};

}  // namespace troupe::dnn::detail
