#include "libraries/dnn/cuda/convolution/after_sums.hpp"

#include "backend/lru_cache.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/plan/staging.hpp"

#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

using elementwise::value;
using function_key = number_key<9>;

constexpr std::size_t most_functions = 64;
constexpr char attachment_key = 0;

using functions = lru_cache<function_key, elementwise::function, function_key::hash>;

value activated(const epilogue& what, const value& x) {
  switch (what.activation) {
    case dnn::activation::none:
      return x;
    case dnn::activation::relu:
      return elementwise::relu(x);
    case dnn::activation::clipped_relu:
      return min(elementwise::relu(x), value(what.upper));
    case dnn::activation::leaky_relu:
      return elementwise::leaky_relu(x, value(what.slope));
    case dnn::activation::elu:
      return elementwise::elu(x, value(what.elu_alpha));
    case dnn::activation::gelu:
      return elementwise::gelu(x);
    case dnn::activation::gelu_tanh:
      return elementwise::gelu_tanh(x);
    case dnn::activation::silu:
      return elementwise::silu(x);
    case dnn::activation::sigmoid:
      return elementwise::sigmoid(x);
    case dnn::activation::tanh:
      return tanh(x);
    case dnn::activation::softplus:
      return elementwise::softplus(x);
  }
  return x;
}

// Inputs: sums, then z and bias if given.
elementwise::function function_of(const epilogue& what, dtype sums, dtype to) {
  const int inputs = 1 + int{what.adds()} + int{!what.bias.null()};
  return elementwise::function::of(inputs, [&](std::span<const value> in) {
    if (sums == dtype::f64 && to == dtype::i32) {
      // Integer sums wrap modulo 2^32.
      const value whole(4294967296.0);
      return in[0] - whole * floor((in[0] + value(2147483648.0)) * value(1 / 4294967296.0));
    }
    value x = what.scales() ? in[0] * value(what.alpha.as<double>()) : in[0];
    std::size_t next = 1;
    if (what.adds()) x = x + in[next++] * value(what.beta.as<double>());
    if (!what.bias.null()) x = x + in[next++];
    x = activated(what, x);
    constexpr double least = -128;
    constexpr double most = 127;
    return to == dtype::i8 ? min(max(round(x), value(least)), value(most)) : x;
  });
}

const elementwise::function& kept_function(const epilogue& what, dtype sums, dtype to,
                                           lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) place = std::make_shared<functions>(most_functions);
  auto& kept = *static_cast<functions*>(place.get());
  function_key key;
  key.add(static_cast<std::int64_t>(what.activation));
  key.add(std::int64_t{what.adds()} | std::int64_t{!what.bias.null()} << 1 |
          static_cast<std::int64_t>(sums) << 8 | static_cast<std::int64_t>(to) << 16);
  for (const double number :
       {what.alpha.as<double>(), what.beta.as<double>(), what.upper, what.slope, what.elu_alpha}) {
    key.add(std::bit_cast<std::int64_t>(number));
  }
  if (const auto* const found = kept.find(key)) return *found;
  return kept.add(key, function_of(what, sums, to));
}

}  // namespace

result<void> enqueue_after(const epilogue& what, const any_tensor& sums, const any_tensor& to,
                           lane& where) {
  elementwise::map request{.inputs = {sums},
                           .outputs = {to},
                           .what = kept_function(what, sums.type(), to.type(), where)};
  if (what.adds()) request.inputs.push_back(what.z);
  if (!what.bias.null()) {
    // The bias runs along dimension 1, which is not the last.
    std::vector<std::int64_t> extents(static_cast<std::size_t>(to.rank()) - 1, 1);
    std::vector<std::int64_t> strides(extents.size(), 1);
    extents[0] = what.bias.extent(0);
    strides[0] = what.bias.stride(0);
    auto view = TRY(what.bias.as_strided(shape(extents), std::span<const std::int64_t>(strides)));
    request.inputs.push_back(std::move(view));
  }
  return enqueue_map(request, where);
}

}  // namespace troupe::cuda
