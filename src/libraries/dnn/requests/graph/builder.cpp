#include "libraries/dnn/requests/graph/builder.hpp"

#include "libraries/dnn/requests/graph/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace troupe::dnn {

using detail::computation_builder;
using nodes::kind;
using nodes::node;

namespace detail {
namespace {

thread_local computation_builder* building = nullptr;

// True for the same bits: +0 and −0 differ, and NaN equals itself.
bool same(const scalar& a, const scalar& b) noexcept {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): every byte of a scalar is a member's
  return std::memcmp(&a, &b, sizeof(scalar)) == 0;
}

}  // namespace

void computation_builder::refuse(std::string message) {
  throw failure(
      {.code = errc::invalid_argument, .message = "dnn computation: " + std::move(message)});
}

computation_builder::computation_builder(int inputs)
    : id_([] {
        static std::atomic<std::uint64_t> last{0};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
      }()),
      outer_(std::exchange(building, this)),
      inputs_(inputs) {
  if (inputs < 0 || inputs > computation::most_inputs) {
    building = outer_;
    refuse(fmt::format("{} inputs; {} is the most", inputs, computation::most_inputs));
  }
}

computation_builder::~computation_builder() { building = outer_; }

computation_builder& computation_builder::current() {
  if (building == nullptr)
    refuse("its nodes exist only while it is built, in the callable that builds it");
  return *building;
}

std::uint16_t computation_builder::add(nodes::entry one) {
  const auto [place, is_new] =
      known_.try_emplace(words_of(one), static_cast<std::uint16_t>(entries_.size()));
  if (is_new) entries_.push_back(std::move(one));
  // Unneeded nodes are removed in the end, so there may be more until then.
  if (entries_.size() > 4 * computation::most_nodes)
    refuse(fmt::format("more than {} nodes", computation::most_nodes));
  return place->second;
}

std::uint16_t computation_builder::number_of(const node& n) {
  if (n.graph_ == id_) return n.number_;
  if (n.graph_ != 0) refuse("an operand is a node of another computation");
  auto found =
      std::ranges::find_if(constants_, [&](const scalar& one) { return same(one, n.constant_); });
  if (found == constants_.end()) found = constants_.insert(found, n.constant_);
  return add({.what = kind::constant, .numbers = {found - constants_.begin()}});
}

node computation_builder::input(int number) {
  return {id_, add({.what = kind::input, .numbers = {number}})};
}

node computation_builder::add(kind what, std::uint8_t detail, std::span<const node> operands,
                              std::vector<std::int64_t> numbers) {
  nodes::entry made{.what = what, .detail = detail, .numbers = std::move(numbers)};
  for (const node& one : operands)
    made.operands.push_back(number_of(one));
  return {id_, add(std::move(made))};
}

computation computation_builder::finish(const std::vector<node>& outputs) {
  if (outputs.size() > static_cast<std::size_t>(computation::most_outputs))
    refuse(fmt::format("{} outputs; {} is the most", outputs.size(), computation::most_outputs));
  std::vector<std::uint16_t> wanted;
  wanted.reserve(outputs.size());
  for (const node& one : outputs)
    wanted.push_back(number_of(one));
  std::vector<bool> needed(entries_.size(), false);
  for (const std::uint16_t one : wanted)
    needed[one] = true;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const std::uint16_t operand : entries_[i].operands)
      needed[operand] = true;
  }
  // Only what is needed, constants too.
  computation made;
  std::vector<std::uint16_t> numbers(entries_.size(), 0);
  std::uint16_t count = 0;
  made.program_.push_back(0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!needed[i]) continue;
    nodes::entry one = entries_[i];
    for (std::uint16_t& operand : one.operands)
      operand = numbers[operand];
    if (one.what == kind::constant) {
      made.constants_.push_back(constants_[static_cast<std::size_t>(one.numbers[0])]);
      one.numbers[0] = static_cast<std::int64_t>(made.constants_.size()) - 1;
    }
    numbers[i] = count++;
    const auto words = words_of(one);
    made.program_.insert(made.program_.end(), words.begin(), words.end());
  }
  for (const std::uint16_t one : wanted)
    made.program_.push_back(numbers[one]);
  made.program_[0] =
      inputs_ | static_cast<std::int64_t>(outputs.size()) << 16 | std::int64_t{count} << 32;
  if (auto valid = made.check(); !valid) refuse(std::move(valid).error().message);
  return made;
}

}  // namespace detail

computation::building::building(int inputs)
    : builder_(std::make_unique<computation_builder>(inputs)) {
  for (int i = 0; i < inputs; ++i)
    inputs_.push_back(builder_->input(i));
}
computation::building::~building() = default;

computation computation::building::finish(const std::vector<node>& outputs) const {
  return builder_->finish(outputs);
}

namespace nodes {
namespace {

std::vector<std::int64_t> norm_numbers(double eps, int dimensions) {
  return {dimensions, std::bit_cast<std::int64_t>(eps)};
}

node norm(kind what, std::span<const node> operands, double eps, int dimensions) {
  return computation_builder::current().add(what, 0, operands, norm_numbers(eps, dimensions));
}

}  // namespace

node apply(elementwise::opcode op, std::span<const node> operands) {
  return computation_builder::current().add(kind::pointwise, static_cast<std::uint8_t>(op),
                                            operands);
}
node apply(dnn::activation what, const node& a) {
  return computation_builder::current().add(kind::activation, static_cast<std::uint8_t>(what),
                                            std::span(&a, 1));
}
node cast(const node& a, dtype type) {
  return computation_builder::current().add(kind::cast, static_cast<std::uint8_t>(type),
                                            std::span(&a, 1));
}
node matmul(const node& a, const node& b) {
  const node both[] = {a, b};
  return computation_builder::current().add(kind::matmul, 0, both);
}
node convolution(const node& x, const node& w, const convolution_options& options) {
  std::vector<std::int64_t> numbers{options.groups};
  for (const auto* const list :
       {&options.stride, &options.dilation, &options.padding, &options.post_padding}) {
    numbers.push_back(static_cast<std::int64_t>(list->size()));
    numbers.insert(numbers.end(), list->begin(), list->end());
  }
  const node both[] = {x, w};
  return computation_builder::current().add(kind::convolution, 0, both, std::move(numbers));
}
node reduce(elementwise::reduction how, const node& a, const std::vector<std::int64_t>& axes) {
  return computation_builder::current().add(kind::reduction, static_cast<std::uint8_t>(how),
                                            std::span(&a, 1), axes);
}
node layer_norm(const node& x, double eps, int dimensions) {
  return norm(kind::layer_norm, std::span(&x, 1), eps, dimensions);
}
node layer_norm(const node& x, const node& weight, double eps, int dimensions) {
  const node all[] = {x, weight};
  return norm(kind::layer_norm, all, eps, dimensions);
}
node layer_norm(const node& x, const node& weight, const node& bias, double eps, int dimensions) {
  const node all[] = {x, weight, bias};
  return norm(kind::layer_norm, all, eps, dimensions);
}
node rms_norm(const node& x, double eps, int dimensions) {
  return norm(kind::rms_norm, std::span(&x, 1), eps, dimensions);
}
node rms_norm(const node& x, const node& weight, double eps, int dimensions) {
  const node all[] = {x, weight};
  return norm(kind::rms_norm, all, eps, dimensions);
}
node transpose(const node& a, const std::vector<std::int64_t>& order) {
  return computation_builder::current().add(kind::transpose, 0, std::span(&a, 1), order);
}
node softmax(const node& a, const std::vector<std::int64_t>& axes) {
  const node e = exp(a - maximum(a, axes));
  return e / sum(e, axes);
}

}  // namespace nodes
}  // namespace troupe::dnn
