#pragma once

#include <troupe/base/result.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::tensors {

/// A tensor of a program: one of the request's, or a part of the workspace.
struct place {
  static constexpr int in_workspace = -1;

  any_tensor layout;             ///< type, extents and strides; its address counts for nothing
  int operand = in_workspace;    ///< number of the request's tensor
  std::size_t offset_bytes = 0;  ///< in the workspace, or in the request's tensor
};

/// One step of a program. Numbers are those of places.
struct step {
  enum class kind : std::uint8_t {
    copy,     ///< with the same type and extents
    map,      ///< elementwise::map
    rows,     ///< elementwise::rows
    product,  ///< output = alpha · a · b + beta · output, in the last two of three dimensions
    sum,      ///< output = alpha · Σ Π inputs + beta · output, by a library that takes names
  };
  /// A product is done again and again, `count` times, each with the tensors that many elements
  /// further on.
  struct loop {
    std::int64_t count;
    std::int64_t a, b, d;
  };

  kind what{};
  std::vector<std::size_t> inputs{};
  std::size_t output = 0;
  elementwise::function function{};
  std::vector<std::int64_t> axes{};
  std::vector<loop> loops{};
  std::vector<std::vector<std::int32_t>> names{};  ///< for a sum: inputs, then the output
  scalar alpha = 1;
  scalar beta = 0;
};

/// The steps of a request: the same for all requests with these modes, types, strides and factors,
/// whatever the addresses of their tensors.
struct program {
  std::vector<place> places;
  std::vector<step> steps;
  std::size_t workspace_bytes = 0;
};

/// Runs a program on a backend, which has `copy(from, to)`, `run(elementwise::map)`,
/// `run(elementwise::rows)` and `multiply(a, b, d, alpha, beta)`; where programs are made for a
/// library also `sum(number of the step, inputs, output)`.
template <class Backend>
class program_run {
 public:
  program_run(const program& p, std::span<const any_tensor* const> operands, std::byte* workspace,
              Backend& backend)
      : program_(p), operands_(operands), workspace_(workspace), backend_(backend) {}

  [[nodiscard]] result<void> operator()() {
    for (const step& one : program_.steps) {
      auto done = one.what == step::kind::copy
                      ? backend_.copy(view(one.inputs[0]), view(one.output))
                  : one.what == step::kind::product ? multiply(one, 0, {})
                  : one.what == step::kind::sum     ? sum(one)
                  : one.what == step::kind::map     ? map(one)
                                                    : rows(one);
      if (!done) return done;
    }
    return {};
  }

 private:
  /// How far each tensor of a product has got, in elements.
  struct offsets {
    std::int64_t a = 0, b = 0, d = 0;
  };

  [[nodiscard]] any_tensor view(std::size_t number, std::int64_t elements = 0) const {
    const place& one = program_.places[number];
    std::byte* const whole = one.operand == place::in_workspace
                                 ? workspace_
                                 : operands_[static_cast<std::size_t>(one.operand)]->address();
    std::byte* const first = whole + one.offset_bytes;
    return any_tensor::unowned(first + elements * size_of(one.layout.type()), one.layout.type(),
                               shape(one.layout.extents()), one.layout.strides());
  }
  [[nodiscard]] std::vector<any_tensor> views(const std::vector<std::size_t>& numbers) const {
    std::vector<any_tensor> all;
    all.reserve(numbers.size());
    for (const std::size_t number : numbers)
      all.push_back(view(number));
    return all;
  }

  [[nodiscard]] result<void> map(const step& one) {
    return backend_.run(elementwise::map{
        .inputs = views(one.inputs), .outputs = {view(one.output)}, .what = one.function});
  }
  [[nodiscard]] result<void> rows(const step& one) {
    return backend_.run(elementwise::rows{.inputs = views(one.inputs),
                                          .outputs = {view(one.output)},
                                          .what = one.function,
                                          .axes = one.axes});
  }
  [[nodiscard]] result<void> sum(const step& one) {
    if constexpr (requires { &Backend::sum; }) {
      const auto number = static_cast<std::size_t>(&one - program_.steps.data());
      return backend_.sum(number, views(one.inputs), view(one.output));
    } else {
      return error{.code = errc::unsupported, .message = "there is no library of sums"};
    }
  }
  [[nodiscard]] result<void> multiply(const step& one, std::size_t depth, offsets at) {
    if (depth == one.loops.size()) {
      return backend_.multiply(view(one.inputs[0], at.a), view(one.inputs[1], at.b),
                               view(one.output, at.d), one.alpha, one.beta);
    }
    const step::loop& l = one.loops[depth];
    for (std::int64_t i = 0; i < l.count; ++i) {
      if (auto done = multiply(one, depth + 1, at); !done) return done;
      at = {at.a + l.a, at.b + l.b, at.d + l.d};
    }
    return {};
  }

  const program& program_;
  std::span<const any_tensor* const> operands_;
  std::byte* workspace_;
  Backend& backend_;
};

}  // namespace troupe::tensors
