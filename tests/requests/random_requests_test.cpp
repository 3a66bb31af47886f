// Requests of every type, drawn from its description: valid ones are accepted and encoded, and one
// that breaks one rule of a table is refused for it.
#include "random_requests.hpp"

#include "request/built_in_requests.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"
#include "wire/codec.hpp"
#include "worker/intake/job.hpp"

#include <troupe/request/outputs.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing_requests::address_source;
using testing_requests::random_requests;

constexpr int rounds = 300;

std::byte* address(std::uint64_t number) {
  return reinterpret_cast<std::byte*>(number);  // NOLINT(performance-no-int-to-ptr)
}
wire::address_ranges ranges() {
  constexpr std::uint64_t bytes = std::uint64_t{1} << 43;
  return {wire::address_range{address(address_source::first_device_address), bytes},
          wire::address_range{address(address_source::first_host_address), bytes}};
}

class every_operand final : public wire::operand_source {
 public:
  result<place> locate(std::string_view, const any_tensor& t, access) override {
    const bool on_host = t.space() == memory_space::host;
    const std::byte* first = address(on_host ? address_source::first_host_address
                                             : address_source::first_device_address);
    return place{.buffer = 1,
                 .pool = wire::own_pool(t.space()),
                 .offset = static_cast<std::uint64_t>(t.address() - first)};
  }
};

std::vector<std::byte> encoded(const request_type& type, void* request) {
  std::vector<std::byte> room(1 << 16);
  every_operand source;
  const auto used = wire::encode(type, request, room, source);
  room.resize(used ? *used : 0);
  return room;
}

class EveryRequest : public testing::TestWithParam<const request_type*> {
 protected:
  [[nodiscard]] const request_type& type() const { return *GetParam(); }
  [[nodiscard]] const description_table& table() const { return *type().fields; }

  /// A request that is valid, its own rules included.
  void* valid() {
    for (int tries = 0; tries < 2000; ++tries) {
      void* request = room_.emplace(type());
      draw_.fill(type(), request);
      if (type().validate(request)) return request;
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t below(std::size_t n) { return draw_.generator()() % n; }
  [[nodiscard]] any_tensor& tensor(void* request, std::size_t i) const {
    return value_at<any_tensor>(request, table().fields[i].offset);
  }
  [[nodiscard]] const std::string& name(std::size_t i) const { return table().details[i].name; }
  /// Which error a request gets, and that the message names the request.
  [[nodiscard]] std::optional<errc> refusal(const void* request) const {
    const auto verdict = type().validate(request);
    if (verdict) return std::nullopt;
    EXPECT_TRUE(verdict.error().message.starts_with(type().name)) << verdict.error().message;
    return verdict.error().code;
  }

  random_requests draw_{20261124};
  worker::request_storage room_;
};

TEST_P(EveryRequest, IsValidAsItIsDescribed) {
  int taken = 0;
  for (int round = 0; round < rounds; ++round) {
    void* request = room_.emplace(type());
    draw_.fill(type(), request);
    if (type().validate(request)) ++taken;
  }
  EXPECT_GT(taken, 0) << "its rules refuse all that its tables say is valid";
}

// If its results follow from the rest, fitting ones are allocated.
TEST_P(EveryRequest, AllocatesTheResultsThatAreLeftOut) {
  for (int round = 0; round < rounds; ++round) {
    void* request = valid();
    ASSERT_NE(request, nullptr);
    std::vector<std::size_t> left_out;
    std::vector<dtype> types;
    for (const std::uint16_t i : table().tensors) {
      const field_details& d = table().details[i];
      const bool is_wanted = (!d.optional || d.given_where >= 0) && !d.in_host_memory;
      if (role_of(table(), table().fields[i], request) != access::write || !is_wanted) continue;
      if (tensor(request, i).null()) continue;
      left_out.push_back(table().fields[i].offset);
      types.push_back(tensor(request, i).type());
      tensor(request, i) = any_tensor();
    }
    std::uint64_t next = address_source::first_device_address + (std::uint64_t{1} << 42);
    const auto made =
        allocate_outputs(type(), request, [&](dtype t, const shape& s) -> result<any_tensor> {
          const any_tensor allocated = any_tensor::unowned(address(next), t, s);
          next += 64 + static_cast<std::uint64_t>(allocated.count() * size_of(t));
          return allocated;
        });
    if (made) {
      EXPECT_EQ(*made, left_out);
      // The first of several listed types is taken, and the other fields may require another.
      bool same_types = true;
      for (std::size_t i = 0; i < types.size(); ++i)
        same_types = same_types && value_at<any_tensor>(request, left_out[i]).type() == types[i];
      if (!same_types) continue;
      const auto verdict = type().validate(request);
      EXPECT_TRUE(verdict) << verdict.error().message << ": " << print(type(), request);
    } else {
      EXPECT_EQ(made.error().code, errc::invalid_argument);
      EXPECT_NE(made.error().message.find(" must be given: "), std::string::npos)
          << made.error().message;
    }
  }
}

TEST_P(EveryRequest, TravelsAsTheSameBytes) {
  for (int round = 0; round < rounds; ++round) {
    void* request = valid();
    ASSERT_NE(request, nullptr);
    const std::vector<std::byte> bytes = encoded(type(), request);
    const std::string shown = print(type(), request);

    worker::request_storage other;
    void* arrived = other.emplace(type());
    std::vector<wire::operand> operands;
    const auto decoded = wire::decode(type(), arrived, bytes, ranges(), operands);
    ASSERT_TRUE(decoded) << decoded.error().message << ": " << shown;
    EXPECT_EQ(encoded(type(), arrived), bytes) << shown;
    EXPECT_EQ(print(type(), arrived), shown);
    EXPECT_TRUE(type().validate(arrived)) << shown;
  }
}

TEST_P(EveryRequest, EndsInAVerdictWhateverIsWrongWithIt) {
  for (int round = 0; round < rounds; ++round) {
    void* request = room_.emplace(type());
    draw_.fill(type(), request);
    for (std::size_t wrong = below(4); wrong > 0; --wrong)
      draw_.spoil(type(), request);
    (void)refusal(request);
    EXPECT_FALSE(print(type(), request).empty());
  }
}

TEST_P(EveryRequest, RefusesTypesThatItDoesNotList) {
  void* request = valid();
  ASSERT_NE(request, nullptr);
  for (const type_table& types : table().types) {
    for (std::size_t place = 0; place < types.fields.size(); ++place) {
      any_tensor& x = tensor(request, types.fields[place]);
      if (x.null()) continue;
      const any_tensor good = x;
      for (int t = 0; t < dtype_count; ++t) {
        const auto other = static_cast<dtype>(t);
        const bool listed = std::ranges::any_of(types.rows, [&](std::uint64_t row) {
          return type_table::type_in(row, place) == other;
        });
        if (listed) continue;
        x = any_tensor::unowned(good.address(), other, shape(good.extents()), good.strides(),
                                good.space());
        // If the type decides what else must be given, that is checked first.
        const auto code = refusal(request);
        EXPECT_TRUE(code == errc::type_mismatch || code == errc::invalid_argument)
            << name(types.fields[place]) << " as " << to_string(other);
      }
      x = good;
    }
  }
}

TEST_P(EveryRequest, RefusesTypesThatDoNotGoTogether) {
  for (const type_table& types : table().types) {
    for (int round = 0; round < rounds; ++round) {
      void* request = valid();
      ASSERT_NE(request, nullptr);
      const std::size_t place = below(types.fields.size());
      any_tensor& x = tensor(request, types.fields[place]);
      if (x.null()) continue;
      const auto other = type_table::type_in(types.rows[below(types.rows.size())], place);
      x = any_tensor::unowned(x.address(), other, shape(x.extents()), x.strides(), x.space());
      const bool listed = std::ranges::any_of(types.rows, [&](std::uint64_t row) {
        for (std::size_t p = 0; p < types.fields.size(); ++p) {
          const any_tensor& t = tensor(request, types.fields[p]);
          if (!t.null() && type_table::type_in(row, p) != t.type()) return false;
        }
        return true;
      });
      if (listed) continue;
      // If the type decides the other rules, that may be checked first.
      EXPECT_NE(refusal(request), std::nullopt) << print(type(), request);
    }
  }
}

TEST_P(EveryRequest, RefusesAMissingTensor) {
  for (const std::uint16_t i : table().tensors) {
    if (table().details[i].optional) continue;
    void* request = valid();
    ASSERT_NE(request, nullptr);
    if (tensor(request, i).empty()) continue;
    tensor(request, i) = any_tensor();
    EXPECT_NE(refusal(request), std::nullopt) << name(i);
  }
}

TEST_P(EveryRequest, RefusesAnotherRank) {
  for (const std::uint16_t i : table().tensors) {
    if (!table().details[i].has_shape) continue;
    void* request = valid();
    ASSERT_NE(request, nullptr);
    any_tensor& x = tensor(request, i);
    if (x.null()) continue;
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(max_rank), 1);
    x = any_tensor::unowned(x.address(), x.type(), shape(std::span(ones)), {}, x.space());
    if (table().details[i].shape.most_rank == max_rank) continue;
    EXPECT_NE(refusal(request), std::nullopt) << name(i);
  }
}

TEST_P(EveryRequest, RefusesExtentsThatDoNotGoTogether) {
  // Symbols by the tensors that have them as they are; one that only one tensor has may be
  // anything.
  std::map<int, std::set<std::uint16_t>> tensors;
  for (const std::uint16_t i : table().tensors) {
    if (!table().details[i].other_shapes.empty()) continue;
    for (const extent& e : table().details[i].shape.extents) {
      if (!e.is_number() && e.is_plain()) tensors[e.symbol()].insert(i);
    }
  }
  for (const std::uint16_t i : table().tensors) {
    const std::vector<extent>& all = table().details[i].shape.extents;
    for (std::size_t d = 0; d < all.size(); ++d) {
      const bool counts =
          all[d].is_number() || (all[d].is_plain() && tensors[all[d].symbol()].size() > 1);
      if (!counts) continue;
      for (int tries = 0; tries < 200; ++tries) {
        void* request = valid();
        ASSERT_NE(request, nullptr);
        any_tensor& x = tensor(request, i);
        const bool others = all[d].is_number() ||
                            std::ranges::all_of(tensors[all[d].symbol()], [&](std::uint16_t o) {
                              return !tensor(request, o).null();
                            });
        // Other shapes than the first have other tests; several leading extents are one symbol.
        if (x.null() || !others || !table().details[i].other_shapes.empty() ||
            x.rank() != static_cast<int>(all.size()))
          continue;
        std::vector<std::int64_t> extents(x.extents().begin(), x.extents().end());
        ++extents[d];
        x = any_tensor::unowned(x.address(), x.type(), shape(std::span(extents)), {}, x.space());
        EXPECT_NE(refusal(request), std::nullopt) << name(i) << ", dimension " << d;
        break;
      }
    }
  }
}

TEST_P(EveryRequest, RefusesToWriteAnElementTwice) {
  for (const std::uint16_t i : table().tensors) {
    if (table().details[i].may_repeat) continue;
    for (int tries = 0; tries < 200; ++tries) {
      void* request = valid();
      ASSERT_NE(request, nullptr);
      any_tensor& x = tensor(request, i);
      if (x.null() || x.empty() || role_of(table(), table().fields[i], request) == access::read)
        continue;
      std::vector<std::int64_t> strides(x.strides().begin(), x.strides().end());
      const auto longer = std::ranges::find_if(x.extents(), [](std::int64_t n) { return n > 1; });
      if (longer == x.extents().end()) continue;
      strides[static_cast<std::size_t>(longer - x.extents().begin())] = 0;
      x = any_tensor::unowned(x.address(), x.type(), shape(x.extents()), strides, x.space());
      const auto code = refusal(request);
      EXPECT_TRUE(code == errc::aliasing || code == errc::layout_unsupported) << name(i);
      break;
    }
  }
}

TEST_P(EveryRequest, RefusesToWriteWhatItAlsoUses) {
  const description_table& t = table();
  for (std::size_t one = 0; one < t.tensors.size(); ++one) {
    for (std::size_t two = 0; two < t.tensors.size(); ++two) {
      if (one == two || ((t.may_be[one] | t.may_share[one]) >> two & 1) != 0) continue;
      const std::uint16_t i = t.tensors[one];
      const std::uint16_t other = t.tensors[two];
      for (int tries = 0; tries < 100; ++tries) {
        void* request = valid();
        ASSERT_NE(request, nullptr);
        any_tensor& x = tensor(request, i);
        const any_tensor& onto = tensor(request, other);
        if (x.null() || x.empty() || onto.null() || onto.empty() || x.space() != onto.space() ||
            role_of(t, t.fields[i], request) == access::read)
          continue;
        x = any_tensor::unowned(onto.address(), x.type(), shape(x.extents()), x.strides(),
                                x.space());
        // Conditions may look at addresses, and ask for something else then.
        EXPECT_NE(refusal(request), std::nullopt) << name(i) << " on " << name(other);
        break;
      }
    }
  }
}

TEST_P(EveryRequest, RefusesValuesOutOfRange) {
  for (std::size_t i = 0; i < table().fields.size(); ++i) {
    const field& f = table().fields[i];
    void* request = valid();
    ASSERT_NE(request, nullptr);
    if (f.kind == field_kind::enumeration) {
      const std::uint64_t out = f.last_enumerator + std::uint64_t{1};
      std::memcpy(&value_at<std::byte>(request, f.offset), &out, f.enumeration_bytes);
      EXPECT_NE(refusal(request), std::nullopt) << name(i);
      continue;
    }
    if (table().details[i].range.empty()) continue;
    const field_details::bounds& range = table().details[i].range.front();
    const double below_least = range.open ? range.least : range.least - 1;
    if (f.kind == field_kind::real) {
      for (const double wrong :
           {below_least, range.most + 1, std::numeric_limits<double>::quiet_NaN(),
            std::numeric_limits<double>::infinity()}) {
        if (wrong >= range.least && wrong <= range.most && std::isfinite(wrong) && !range.open)
          continue;
        value_at<double>(request, f.offset) = wrong;
        EXPECT_NE(refusal(request), std::nullopt) << name(i) << " = " << wrong;
      }
    } else if (f.kind == field_kind::integer && std::isfinite(below_least)) {
      value_at<std::int64_t>(request, f.offset) = static_cast<std::int64_t>(below_least);
      EXPECT_NE(refusal(request), std::nullopt) << name(i) << " = " << below_least;
    }
  }
}

// Two programs' ideas of one request.
struct two_inputs {
  using reply = void;
  static constexpr std::string_view name = "test.same_name";

  any_tensor a{};
  any_tensor b{};

  static void describe(description<two_inputs>& d) {
    d.reads("a", &two_inputs::a, {}, "tensor");
    d.reads("b", &two_inputs::b, {}, "tensor");
  }
};
struct input_and_output {
  using reply = void;
  static constexpr std::string_view name = "test.same_name";

  any_tensor a{};
  any_tensor b{};

  static void describe(description<input_and_output>& d) {
    d.reads("a", &input_and_output::a, {}, "tensor");
    d.writes("b", &input_and_output::b, {}, "tensor");
  }
};

TEST(RequestType, HasAnotherIdWhereItsFieldsAreOthers) {
  EXPECT_NE(request_type_of<two_inputs>().id, request_type_of<input_and_output>().id);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRequest,
                         testing::ValuesIn(built_in_requests().begin(), built_in_requests().end()),
                         [](const auto& one) {
                           std::string name(one.param->name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace troupe
