#include "scene.hpp"

#include <troupe/request/fields.hpp>

#include <cstring>
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
class saboteur {
 public:
  explicit saboteur(std::mt19937_64& random) : random_(random) {}

  void fill(const field_view& f, void* request) {
    switch (f.kind) {
      case field_kind::tensor:
        return tensor(f.in<any_tensor>(request));
      case field_kind::tensors:
        return tensors(f.in<std::vector<any_tensor>>(request));
      case field_kind::scalar:
        f.in<scalar>(request) = number_of_any_kind();
        return;
      case field_kind::integer:
        f.in<std::int64_t>(request) = integer();
        return;
      case field_kind::unsigned_integer:
        f.in<std::uint64_t>(request) = static_cast<std::uint64_t>(integer());
        return;
      case field_kind::real:
        f.in<double>(request) = number_of_any_kind().as<double>();
        return;
      case field_kind::boolean:
        f.in<bool>(request) = below(2) == 0;
        return;
      case field_kind::enumeration:
        return enumeration(f, request);
      case field_kind::text:
        return text(f.in<std::string>(request));
      case field_kind::integers:
        f.in<std::vector<std::int64_t>>(request).assign(below(4), integer());
        return;
      case field_kind::scalars:
        f.in<std::vector<scalar>>(request).assign(below(4), number_of_any_kind());
        return;
      case field_kind::groups:
        ADD_FAILURE() << f.name << " is a list of groups, which this test does not fill yet";
        return;
    }
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

  // Names of dimensions are read before tensors are looked at: some texts are names.
  void text(std::string& t) {
    if (below(2) == 0) {
      t.assign(below(40), '\xFF');
      return;
    }
    const auto add_list = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        t += static_cast<char>('a' + below(4));
    };
    t.clear();
    for (std::size_t lists = 1 + below(3); lists > 0; --lists) {
      add_list(wanted_rank_);
      if (lists > 1) t += ',';
    }
    t += "->";
    add_list(below(wanted_rank_ + 1));
  }

  void tensor(any_tensor& t) {
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
  void tensors(std::vector<any_tensor>& list) {
    list.resize(below(8) == 0 ? below(4) : 3);
    for (any_tensor& one : list)
      tensor(one);
  }
  void enumeration(const field_view& f, void* request) {
    // A device encodes and then validates: an enumerator that is none is seen by both.
    const std::size_t count = f.enumerators.size();
    const std::size_t value = below(8) == 0 ? count + below(100) : below(count);
    std::memcpy(&f.in<std::byte>(request), &value, f.enumeration_bytes);
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
    const std::vector<field_view> fields = fields_of(*o.type);
    for (int round = 0; round < 2000; ++round) {
      alignas(64) std::byte place[4096];
      ASSERT_LE(o.type->bytes, sizeof place);
      o.type->construct(o.type->context, place);
      saboteur hostile(s.generator());
      for (const field_view& f : fields)
        hostile.fill(f, place);
      // Roles are asked for before anything is validated.
      for_each_tensor(*o.type, place, [](std::string_view, any_tensor&, access) {});
      const auto verdict = o.type->validate(place);
      if (verdict) {
        ++passed;
      } else {
        ++refused;
        EXPECT_FALSE(verdict.error().message.empty()) << o.type->name;
      }
      o.type->destroy(o.type->context, place);
    }
  }
  std::printf("%zu refused, %zu happened to be valid\n", refused, passed);
}

}  // namespace
}  // namespace troupe::conformance
