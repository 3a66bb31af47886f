#pragma once

#include "conformance/scene.hpp"
#include "rnn_reference.hpp"

#include <string>

namespace troupe::conformance {

struct rnn_case {
  dtype type = dtype::f32;
  dnn::rnn_network network{.hidden = 5};
  std::int64_t steps = 4;
  std::int64_t batch = 3;
  std::int64_t input = 6;
  bool batch_first = false;
  bool lengths = false;  ///< random ones, with 0 and the longest among them
  bool states = true;    ///< first ones are given, last ones asked for

  [[nodiscard]] std::string text() const;
  /// Any case, of small sizes.
  [[nodiscard]] static rnn_case random(dtype type, std::mt19937_64& from);
};

/// A case with its content, which several requests in scenes of their own share.
class rnn_stage {
 public:
  explicit rnn_stage(const rnn_case& c);

  /// The size for the case's own runner.
  [[nodiscard]] std::int64_t reserve_bytes() const;
  /// Runs forward, once more in training, and compares. \returns false where it is not offered
  bool check_forward(bool training);
  /// After training: both requests.
  void check_backward(bool accumulate = false);

  /// All three requests several times on the same tensors, each time with other content.
  void check_repeated(int times);

  [[nodiscard]] rnn_reference::problem& problem() { return problem_; }

 private:
  using values = std::vector<double>;

  void draw();
  [[nodiscard]] values random_values(std::int64_t count, double size);
  test_tensor& sequence(scene& s, std::int64_t width, const values* content);
  /// Null where it is not wanted.
  test_tensor* states(scene& s, std::int64_t width, const values* content, bool wanted);
  test_tensor& filled(scene& s, test_tensor& t, const values& content);
  void expect(scene& s, const test_tensor& t, const values& expected, std::int64_t depth);
  [[nodiscard]] bool lstm() const { return c_.network.cell == dnn::rnn_cell::lstm; }
  [[nodiscard]] std::int64_t width() const { return problem_.directions() * problem_.output(); }

  rnn_case c_;
  std::mt19937_64 random_;
  rnn_reference::problem problem_;
  std::vector<std::int64_t> given_lengths_;
  values y_;
  std::vector<number> reserve_;
};

}  // namespace troupe::conformance
