#pragma once

#include <troupe/troupe.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace convnet {

/// Images of one step.
inline constexpr std::int64_t batch = 96;
inline constexpr std::int64_t side = 8;
inline constexpr std::int64_t classes = 10;

/// The state that training changes: values, their velocities, and the gradients of a step. Each
/// step makes new values and velocities, so that every request only overwrites: work of a lost
/// worker is simply done again.
struct parameter {
  troupe::any_tensor value, velocity, gradient;
};

/// Two convolutions and a matrix:
/// [n, 1, 8, 8] → [n, 16, 8, 8] → [n, 32, 4, 4] → [n, 10].
class network {
 public:
  /// Draws weights from a fixed seed. Throws `troupe::failure`.
  explicit network(const troupe::device& device);

  /// Asks for the losses of `images` [batch, 1, side, side]; `targets` are i32.
  void forward(const troupe::any_tensor& images);
  void loss(const troupe::any_tensor& targets, const troupe::any_tensor& losses);
  /// Asks for the gradients of the mean loss, and for the step that they make.
  void backward(const troupe::any_tensor& images, const troupe::any_tensor& targets);
  void step(double learning_rate);

  [[nodiscard]] const troupe::any_tensor& logits() const noexcept { return logits_; }
  /// Waits for all that was asked. Throws the first error.
  void wait();

 private:
  [[nodiscard]] troupe::any_tensor make(const troupe::shape& extents);
  [[nodiscard]] parameter make_parameter(const troupe::shape& extents, double bound);
  /// Sends a request, with its outputs.
  template <class R>
  R compute(R request) {
    auto sent = device_.compute(std::move(request));
    asked_.push_back(sent.answer());
    return *sent;
  }

  troupe::device device_;
  std::uint32_t seed_ = 1;
  parameter first_, first_bias_, second_, second_bias_, last_, last_bias_;
  troupe::any_tensor y1_, y2_, features_, logits_, dloss_;
  std::vector<troupe::future<void>> asked_;
};

}  // namespace convnet
