// Random programs in every layout, beside the reference. TROUPE_RANDOM_PROGRAMS says how many.
#include "programs.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

using elementwise::function;
using namespace elementwise_reference;
using axis_list = std::vector<std::int64_t>;

constexpr dtype drawn_types[] = {dtype::f32,  dtype::f64,  dtype::f16,     dtype::bf16,
                                 dtype::e4m3, dtype::e5m2, dtype::i8,      dtype::u8,
                                 dtype::i32,  dtype::i64,  dtype::boolean, dtype::c64};
constexpr std::size_t real_type_count = std::size(drawn_types) - 1;

enum class arrangement : std::uint8_t { packed, transposed, padded, mixed };
constexpr arrangement arrangements[] = {arrangement::packed, arrangement::transposed,
                                        arrangement::padded, arrangement::mixed};

/// A random program and the shape of what it is applied to.
class random_case {
 public:
  random_case(std::mt19937_64& random, bool rows) : random_(random) {
    extents_ = {static_cast<std::int64_t>(1 + below(9)), static_cast<std::int64_t>(1 + below(40))};
    const std::size_t inputs = 1 + below(3);
    for (std::size_t k = 0; k < inputs; ++k) {
      inputs_.push_back(drawn_types[below(k == 0 ? std::size(drawn_types) : real_type_count)]);
      broadcast_.push_back(below(6));
    }
    const auto outputs = static_cast<int>(1 + below(2));
    what_ = testing_requests::random_function(
        random, {.inputs = inputs_, .outputs = outputs, .rows = rows, .divides = !on_gpu()});
    outputs_.resize(static_cast<std::size_t>(outputs));
    for (dtype& one : outputs_)
      one = drawn_types[below(real_type_count)];
    if (rows) axes_ = below(4) == 0 ? axis_list{0, 1} : axis_list{below(2) == 0 ? 0 : -1};
  }

  /// False at the first element that is wrong.
  bool holds_in(arrangement how) {
    scene s;
    std::vector<test_tensor*> in;
    std::vector<test_tensor*> out;
    in.reserve(inputs_.size());
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      in.push_back(&tensor(s, inputs_[k], shape_of(k), how));
    std::uint32_t repeated = 0;
    for (std::size_t k = 0; k < in.size(); ++k)
      repeated |= is_one_along_axes(shape_of(k)) ? 1U << k : 0;
    const auto kinds = what_.outputs_for(inputs_, repeated).value();
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const bool reduced = !axes_.empty() && kinds[k].same_for_row;
      out.push_back(&tensor(s, outputs_[k], reduced ? reduced_shape() : extents_, how));
    }
    return check(s, what_, in, out, 0, axes_, !axes_.empty());
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] bool is_axis(std::int64_t d) const {
    return std::ranges::any_of(axes_, [&](std::int64_t a) { return a == d || a + 2 == d; });
  }
  [[nodiscard]] axis_list shape_of(std::size_t input) const {
    if (broadcast_[input] == 0) return {extents_[1]};
    if (broadcast_[input] == 1) return {extents_[0], 1};
    return extents_;
  }
  [[nodiscard]] axis_list reduced_shape() const {
    return {is_axis(0) ? 1 : extents_[0], is_axis(1) ? 1 : extents_[1]};
  }
  [[nodiscard]] bool is_one_along_axes(const axis_list& size) const {
    if (axes_.empty()) return false;
    const bool first = !is_axis(0) || size.size() < 2 || size[0] == 1;
    return first && (!is_axis(1) || size.back() == 1);
  }
  test_tensor& tensor(scene& s, dtype type, const axis_list& size, arrangement how) {
    if (how == arrangement::mixed) how = arrangements[below(3)];
    const std::int64_t gap = how == arrangement::padded ? 3 : 0;
    if (size.size() == 1) return s.tensor(type, size, {1 + gap});
    if (how == arrangement::transposed) return s.tensor(type, size, {1, size[0]});
    return s.tensor(type, size, {size[1] + gap, 1});
  }

  std::mt19937_64& random_;
  axis_list extents_;
  axis_list axes_;
  std::vector<dtype> inputs_;
  std::vector<std::size_t>
      broadcast_;  ///< by input: 0 without the first dimension, 1 along the last
  std::vector<dtype> outputs_;
  function what_;
};

// The same programs in each arrangement, each of which is another way through the executors.
void check_programs(int count, bool rows) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < count; ++i) {
    random_case one(random, rows);
    for (const arrangement how : arrangements) {
      if (!one.holds_in(how)) return;
    }
  }
  testing::Test::RecordProperty("programs", count);
}

TEST(ElementwisePrograms, OfElementsAreExact) { check_programs(random_programs(), false); }
TEST(ElementwisePrograms, OfRowsAreExact) { check_programs(random_programs() / 4, true); }

}  // namespace
}  // namespace troupe::conformance
