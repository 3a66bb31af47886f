#pragma once

#include <troupe/blas/modes.hpp>
#include <troupe/troupe.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace data_parallel {

/// Draws a matrix and a bias for each layer, from a fixed seed: [w0, b0, w1, b1, …], where layer i
/// takes widths[i] numbers to widths[i + 1].
std::vector<troupe::any_tensor> make_parameters(troupe::device on,
                                                std::span<const std::int64_t> widths);

/// One rank's network of linear layers, with relu between them. Each step makes new parameters: no
/// request changes its inputs, so the work of a lost worker is simply done again.
class network {
 public:
  network(const troupe::device& on, std::vector<troupe::any_tensor> parameters,
          troupe::blas::math_mode math = troupe::blas::math_mode::strict)
      : device_(on), parameters_(std::move(parameters)), math_(math) {}

  [[nodiscard]] std::size_t layers() const noexcept { return parameters_.size() / 2; }
  [[nodiscard]] const std::vector<troupe::any_tensor>& parameters() const noexcept {
    return parameters_;
  }

  /// Asks for the losses of x [rows, widths[0]]; targets [rows] are i32.
  void forward(const troupe::any_tensor& x, const troupe::any_tensor& targets,
               const troupe::any_tensor& losses);
  /// Asks for the gradients of the mean loss: from the last layer to the first.
  void backward(std::size_t layer, const troupe::any_tensor& dw, const troupe::any_tensor& db);
  /// Asks for new parameters; `gradient(i)` is that of parameter i.
  void step(const std::function<troupe::any_tensor(std::size_t)>& gradient, double learning_rate);

 private:
  // If a request fails, its outputs are tainted, and so reading the losses fails.
  template <class R>
  R compute(R request) {
    return *device_.compute(std::move(request));
  }

  troupe::device device_;
  std::vector<troupe::any_tensor> parameters_;
  troupe::blas::math_mode math_;
  std::vector<troupe::any_tensor> h_;  // the input of each layer, and the logits
  troupe::any_tensor targets_, dz_, each_;
};

}  // namespace data_parallel
