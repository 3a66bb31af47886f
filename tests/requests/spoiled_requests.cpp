#include "random_requests.hpp"
#include "request/description/table.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

}  // namespace

std::string random_requests::spoil(const request_type& type, void* request) {
  const description_table& t = *type.fields;
  if (t.fields.empty()) return "nothing";
  const std::size_t i = below(t.fields.size());
  const field& f = t.fields[i];
  const std::string& name = t.details[i].name;
  const auto say = [&](std::string_view what) { return fmt::format("{}: {}", name, what); };
  const auto set = [&]<class T>(T value, std::string_view what) {
    value_at<T>(request, f.offset) = std::move(value);
    return say(what);
  };
  switch (f.kind) {
    case field_kind::tensor:
    case field_kind::tensors:
      break;
    case field_kind::scalar:
      return set(scalar(std::complex(0.5, 2.0)), "complex");
    case field_kind::integer: {
      constexpr std::int64_t some[] = {-1, 0, 7, std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
      return set(some[below(std::size(some))], "another number");
    }
    case field_kind::unsigned_integer:
      return set(std::numeric_limits<std::uint64_t>::max() - below(2), "another number");
    case field_kind::real: {
      constexpr double some[] = {-1,
                                 0,
                                 1,
                                 1e300,
                                 -1e300,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
      return set(some[below(std::size(some))], "another number");
    }
    case field_kind::boolean:
      return set(!value_at<bool>(request, f.offset), "the other way");
    case field_kind::enumeration: {
      const std::size_t drawn = below(f.last_enumerator + std::size_t{3});
      std::memcpy(&value_at<std::byte>(request, f.offset), &drawn, f.enumeration_bytes);
      return say("another enumerator");
    }
    case field_kind::text:
      return set(std::string(below(4), '\xff'), "another text");
    case field_kind::integers: {
      auto& list = value_at<numbers>(request, f.offset);
      if (!list.empty() && !one_in(3)) {
        std::int64_t& word = list[below(list.size())];
        word = one_in(3) ? list[below(list.size())] : word ^ std::int64_t{1} << below(64);
        return say("another word");
      }
      return set(numbers(below(10), static_cast<std::int64_t>(below(9)) - 1), "another list");
    }
    case field_kind::scalars:
      return set(std::vector<scalar>(below(10), scalar(std::complex(0.5, 2.0))), "another list");
    case field_kind::groups:
      t.lists[static_cast<std::size_t>(f.groups)].type->resize(
          &value_at<std::byte>(request, f.offset), below(3));
      return say("another length");
  }
  if (f.kind == field_kind::tensors) {
    auto& list = value_at<std::vector<any_tensor>>(request, f.offset);
    if (list.empty() || one_in(3)) {
      list.resize(below(4), list.empty() ? any_tensor() : list.front());
      return say("another length");
    }
  }
  any_tensor& x =
      f.kind == field_kind::tensor
          ? value_at<any_tensor>(request, f.offset)
          : value_at<std::vector<any_tensor>>(
                request,
                f.offset)[below(value_at<std::vector<any_tensor>>(request, f.offset).size())];
  if (x.null()) {
    x = views_(static_cast<dtype>(below(dtype_count)), shape{2, 3}, {}, memory_space::device);
    return say("given");
  }
  numbers extents(x.extents().begin(), x.extents().end());
  numbers strides(x.strides().begin(), x.strides().end());
  const auto again = [&](std::string_view what) {
    x = any_tensor::unowned(x.address(), x.type(), shape(std::span(extents)), strides, x.space());
    return say(what);
  };
  const auto rank = extents.size();
  switch (below(9)) {
    case 0:
      x = any_tensor();
      return say("not given");
    case 1:
      x = any_tensor::unowned(x.address(), static_cast<dtype>(below(dtype_count)),
                              shape(std::span(extents)), strides, x.space());
      return say("another type");
    case 2:
      if (rank < static_cast<std::size_t>(max_rank)) {
        extents.push_back(static_cast<std::int64_t>(1 + below(2)));
        strides.push_back(1);
      }
      return again("one more dimension");
    case 3:
      if (rank > 0) {
        extents.pop_back();
        strides.pop_back();
      }
      return again("one dimension less");
    case 4:
      if (rank > 0) extents[below(rank)] += static_cast<std::int64_t>(below(3)) - 1;
      return again("another extent");
    case 5:
      if (rank > 0) strides[below(rank)] = static_cast<std::int64_t>(below(4)) - 1;
      return again("another stride");
    case 6:
      if (rank > 0) (one_in(2) ? extents : strides)[below(rank)] = std::int64_t{1} << 61;
      return again("beyond all bounds");
    case 7:
      if (rank > 1) std::swap(strides[rank - 1], strides[rank - 2]);
      return again("strides swapped");
    default:
      break;
  }
  // At the beginning of another tensor, or a little later.
  const std::uint16_t other = t.tensors.empty() ? 0 : t.tensors[below(t.tensors.size())];
  if (t.tensors.empty()) return say("as it was");
  const auto& onto = value_at<any_tensor>(request, t.fields[other].offset);
  if (onto.null()) return say("as it was");
  x = any_tensor::unowned(onto.address() + below(4) * static_cast<std::size_t>(size_of(x.type())),
                          x.type(), shape(std::span(extents)), strides, x.space());
  return fmt::format("{}: where {} is", name, t.details[other].name);
}

}  // namespace troupe::testing_requests
