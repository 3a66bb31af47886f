#include "scene.hpp"

#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t hostile_numbers[] = {0,
                                            1,
                                            2,
                                            3,
                                            4,
                                            6,
                                            -1,
                                            most,
                                            least,
                                            most - 1,
                                            least + 1,
                                            1 << 20,
                                            -(1 << 20),
                                            most / 2,
                                            most / 4 + 1,
                                            std::int64_t{1} << 32,
                                            std::int64_t{1} << 61};

/// Fills every field of a request with what no caller would send, but broken bytes might.
class saboteur final : public field_visitor {
 public:
  explicit saboteur(std::mt19937_64& random) : random_(random) {}

  void value(std::string_view, scalar& v) override { v = number_of_any_kind(); }
  void value(std::string_view, std::int64_t& v) override { v = integer(); }
  void value(std::string_view, double& v) override { v = number_of_any_kind().as<double>(); }
  void value(std::string_view, bool& v) override { v = below(2) == 0; }
  void value(std::string_view, std::string& v) override { v.assign(below(40), '\xFF'); }
  void value(std::string_view, std::vector<std::int64_t>& v) override {
    v.assign(below(4), integer());
  }
  void value(std::string_view, std::vector<scalar>& v) override {
    v.assign(below(4), number_of_any_kind());
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t integer() { return hostile_numbers[below(std::size(hostile_numbers))]; }

  scalar number_of_any_kind() {
    constexpr double reals[] = {0,
                                1,
                                -1,
                                0.5,
                                1e300,
                                -1e300,
                                1e-300,
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                0x1p63};
    const double one = reals[below(std::size(reals))];
    switch (below(4)) {
      case 0:
        return integer();
      case 1:
        return static_cast<std::uint64_t>(integer());
      case 2:
        return one;
      default:
        return number(one, reals[below(std::size(reals))]);
    }
  }

  void tensor(std::string_view, any_tensor& t, access) override {
    if (below(20) == 0) {
      t = any_tensor();
      return;
    }
    const std::size_t rank = below(4) == 0 ? below(9) : wanted_rank_;
    // Mostly small, so that the first checks pass and the later ones are reached.
    const bool tame = below(3) != 0;
    std::vector<std::int64_t> extents(rank);
    std::vector<std::int64_t> strides(rank);
    std::int64_t step = 1;
    for (std::size_t d = rank; d-- > 0;) {
      extents[d] = tame ? 3 : integer();
      strides[d] = tame && below(6) != 0 ? step : integer();
      step *= 3;
    }
    const auto type = below(3) == 0 ? static_cast<dtype>(below(dtype_count)) : type_;
    t = any_tensor::unowned(memory_ + below(4096) * 16, type, shape(std::span(extents)), strides);
  }
  void tensors(std::string_view name, std::vector<any_tensor>& list, access role) override {
    list.resize(below(8) == 0 ? below(4) : 3);
    for (any_tensor& one : list)
      tensor(name, one, role);
  }
  void choice(std::string_view, std::uint32_t& v, std::uint32_t last) override {
    // A device encodes and then validates: an enumerator that is none is seen by both.
    v = static_cast<std::uint32_t>(below(8) == 0 ? last + 1 + below(100) : below(last + 1));
  }

  std::mt19937_64& random_;
  std::size_t wanted_rank_ = 1 + random_() % 3;
  dtype type_ = static_cast<dtype>(random_() % dtype_count);
  std::byte memory_[4096 * 16 + 64];
};

TEST(HostileRequests, AreRefusedWithoutUndefinedBehaviour) {
  scene s;
  std::size_t refused = 0;
  std::size_t passed = 0;
  for (const operation& o : all_operations()) {
    for (int round = 0; round < 2000; ++round) {
      alignas(64) std::byte place[4096];
      ASSERT_LE(o.type->bytes, sizeof place);
      o.type->construct(place);
      saboteur fields(s.generator());
      o.type->describe(place, fields);
      const auto verdict = o.type->validate(place);
      if (verdict) {
        ++passed;
      } else {
        ++refused;
        EXPECT_FALSE(verdict.error().message.empty()) << o.type->name;
      }
      // Describing is done before validating, too, so it must stand the same fields.
      saboteur again(s.generator());
      o.type->describe(place, again);
      o.type->destroy(place);
    }
  }
  std::printf("%zu refused, %zu happened to be valid\n", refused, passed);
}

}  // namespace
}  // namespace troupe::conformance
