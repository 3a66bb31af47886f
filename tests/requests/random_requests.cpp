#include "random_requests.hpp"

#include "random_collectives.hpp"
#include "random_convolutions.hpp"
#include "random_graphs.hpp"
#include "random_modes.hpp"
#include "random_pooling.hpp"
#include "random_programs.hpp"
#include "random_rnn.hpp"
#include "random_sparse.hpp"
#include "request/description/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

constexpr std::uint64_t apart_bytes = 1 << 20;

// Row-major, with room after each row of `gap` elements.
numbers row_major(const numbers& extents, std::int64_t gap) {
  numbers strides(extents.size());
  std::int64_t step = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = step;
    step = step * std::max<std::int64_t>(extents[d], 1) + (d + 1 == extents.size() ? gap : 0);
  }
  return strides;
}

}  // namespace

any_tensor address_source::operator()(dtype type, const shape& extents,
                                      std::span<const std::int64_t> strides, memory_space space) {
  const std::uint64_t first =
      space == memory_space::host ? first_host_address : first_device_address;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const at = reinterpret_cast<std::byte*>(first + next_);
  next_ += apart_bytes;
  return any_tensor::unowned(at, type, extents, strides, space);
}

/// One request while it is drawn: values first, then types, sizes and tensors, and once more what
/// conditions of these change.
class random_requests::drawing {
 public:
  drawing(random_requests& from, const description_table& t, void* request)
      : from_(from), t_(t), request_(request) {}

  void run() {
    list_length_ = below(4);
    for (std::size_t i = 0; i < t_.fields.size(); ++i)
      value(i);
    types();
    // Extents that a rule relates are mostly related where they are equal.
    const std::int64_t common = extent_drawn();
    const bool is_alike = one_in(2);
    for (const symbol& s : t_.symbols) {
      sizes_.push_back(size_for(s));
      if (is_alike && s.is_single() && !one_in(4)) sizes_.back().front() = common;
    }
    for (int again = 0; again < 3; ++again) {
      for (std::size_t i = 0; i < t_.fields.size(); ++i) {
        if (t_.fields[i].is_tensor()) tensors(i);
      }
      for (std::size_t i = 0; i < t_.fields.size(); ++i)
        only(i);
    }
    for (std::size_t i = 0; i < t_.fields.size(); ++i) {
      const auto of = t_.details[i].factor_of;
      if (of < 0 || is_complex(tensor(static_cast<std::size_t>(of)).type())) continue;
      auto& number = at<scalar>(i);
      if (number.has_imaginary()) number = 2;
    }
  }

 private:
  template <class T>
  [[nodiscard]] T& at(std::size_t i) const {
    return value_at<T>(request_, t_.fields[i].offset);
  }
  [[nodiscard]] any_tensor& tensor(std::size_t i) const { return at<any_tensor>(i); }
  [[nodiscard]] bool holds(int c) const {
    return troupe::holds(t_.conditions[static_cast<std::size_t>(c)], request_);
  }
  std::size_t below(std::size_t n) { return from_.below(n); }
  bool one_in(std::size_t n) { return from_.one_in(n); }

  void value(std::size_t i) {
    const field& f = t_.fields[i];
    if (one_in(2) && default_fits(i)) return;
    switch (f.kind) {
      case field_kind::tensor:
      case field_kind::tensors:
        return;
      case field_kind::scalar:
        at<scalar>(i) = number(t_.details[i].is_real);
        return;
      case field_kind::integer:
        at<std::int64_t>(i) = static_cast<std::int64_t>(in_range(i, -2, 6));
        return;
      case field_kind::unsigned_integer:
        at<std::uint64_t>(i) = static_cast<std::uint64_t>(in_range(i, 0, 6));
        return;
      case field_kind::real:
        at<double>(i) = in_range(i, -1, 2) + (one_in(2) ? 0.25 : 0.0);
        return;
      case field_kind::boolean:
        at<bool>(i) = one_in(2);
        return;
      case field_kind::enumeration: {
        const std::size_t drawn = below(f.last_enumerator + std::size_t{1});
        std::memcpy(&at<std::byte>(i), &drawn, f.enumeration_bytes);
        return;
      }
      case field_kind::text:
        at<std::string>(i).assign(length(i), 'x');
        return;
      case field_kind::integers:
        at<numbers>(i).assign(length(i), static_cast<std::int64_t>(below(5)));
        return;
      case field_kind::scalars:
        at<std::vector<scalar>>(i).assign(length(i), number(t_.details[i].is_real));
        return;
      case field_kind::groups: {
        const group_list& list = t_.lists[static_cast<std::size_t>(f.groups)];
        void* const all = &at<std::byte>(i);
        list.type->resize(all, length(i));
        std::byte* one = list.type->data(all);
        for (std::size_t n = list.type->size(all); n > 0; --n, one += list.type->stride)
          from_.fill(*list.of, one);
        return;
      }
    }
  }

  [[nodiscard]] bool default_fits(std::size_t i) const {
    if (t_.details[i].range.empty()) return true;
    const field_details::bounds& range = t_.details[i].range.front();
    const auto fits = [&](auto is) {
      const auto number = static_cast<double>(is);
      return number >= range.least && number <= range.most &&
             !(range.open && number == range.least);
    };
    switch (t_.fields[i].kind) {
      case field_kind::integer:
        return fits(at<std::int64_t>(i));
      case field_kind::unsigned_integer:
        return fits(at<std::uint64_t>(i));
      case field_kind::real:
        return fits(at<double>(i));
      default:
        return false;
    }
  }

  scalar number(bool real) {
    constexpr double some[] = {0, 1, -1, 2, 0.5};
    if (!real && one_in(6)) return scalar(std::complex(some[below(5)], 1.5));
    return one_in(3) ? scalar(static_cast<std::int64_t>(below(3))) : scalar(some[below(5)]);
  }
  double in_range(std::size_t i, double least, double most) {
    const auto& range = t_.details[i].range;
    if (!range.empty()) {
      least = std::max(least, range.front().least + (range.front().open ? 0.5 : 0.0));
      most = std::max(least, std::min(range.front().most, least + 8));
    }
    return least + static_cast<double>(below(static_cast<std::size_t>(most - least) + 1));
  }
  // Lists of a request mostly go together.
  std::size_t length(std::size_t i) {
    const bool is_short = t_.details[i].range.empty() && !one_in(4);
    return is_short ? list_length_ : drawn_length(i);
  }
  std::size_t drawn_length(std::size_t i) {
    return static_cast<std::size_t>(std::max(0.0, in_range(i, 0, 3)));
  }

  // One row of each table that agrees with those before.
  void types() {
    for (const type_table& table : t_.types) {
      std::vector<std::uint64_t> fit;
      for (const std::uint64_t row : table.rows) {
        bool agrees = true;
        for (std::size_t place = 0; place < table.fields.size(); ++place) {
          const auto known = types_.find(table.fields[place]);
          agrees =
              agrees && (known == types_.end() || known->second == type_table::type_in(row, place));
        }
        if (agrees) fit.push_back(row);
      }
      if (fit.empty()) continue;
      const std::uint64_t row = fit[below(fit.size())];
      for (std::size_t place = 0; place < table.fields.size(); ++place)
        types_[table.fields[place]] = type_table::type_in(row, place);
    }
    any_type_ = static_cast<dtype>(below(dtype_count));
  }

  std::int64_t extent_drawn() {
    constexpr std::int64_t some[] = {0, 1, 2, 3, 3, 4, 5, 8};
    return some[below(std::size(some))];
  }
  numbers size_for(const symbol& s) {
    const int most = std::min(s.most, s.least + 2);
    numbers all(s.is_single() ? 1
                              : static_cast<std::size_t>(s.least) +
                                    below(static_cast<std::size_t>(most - s.least) + 1));
    for (std::int64_t& n : all)
      n = extent_drawn();
    return all;
  }
  numbers extents_of(std::size_t i) {
    const field_details& d = t_.details[i];
    numbers all;
    if (!d.has_shape) {
      all.resize(below(4));
      for (std::int64_t& n : all)
        n = extent_drawn();
      return all;
    }
    const std::vector<extent>* shape = &d.shape.extents;
    for (const auto& other : d.other_shapes) {
      if (!holds(other.where)) continue;
      shape = &other.shape.extents;
      break;
    }
    for (const extent& e : *shape) {
      if (e.is_number()) {
        all.push_back(e.plus());
        continue;
      }
      const auto s = static_cast<std::size_t>(e.symbol());
      if (t_.symbols[s].is_single()) {
        const auto second = e.is_smaller() ? static_cast<std::size_t>(e.other()) : s;
        const std::int64_t n = e.value(sizes_[s].front(), sizes_[second].front());
        all.push_back(std::max<std::int64_t>(0, n));
      } else {
        all.insert(all.end(), sizes_[s].begin(), sizes_[s].end());
      }
    }
    return all;
  }

  [[nodiscard]] bool is_wanted(std::size_t i) {
    const field_details& d = t_.details[i];
    if (d.given_where >= 0) return holds(d.given_where);
    if (!std::ranges::all_of(d.only_where, [&](int c) { return holds(c); })) return false;
    if (!d.optional) return true;
    const auto [known, is_new] = wanted_.try_emplace(i, false);
    if (is_new) known->second = one_in(2);
    return known->second;
  }

  void tensors(std::size_t i) {
    const bool wanted = is_wanted(i);
    if (t_.fields[i].kind == field_kind::tensors) {
      auto& list = at<std::vector<any_tensor>>(i);
      if (wanted == !list.empty()) return;
      list.resize(wanted ? list_length_ : 0);
      for (any_tensor& one : list)
        one = view(i, extents_of(i));
      return;
    }
    any_tensor& t = tensor(i);
    if (!wanted) {
      t = any_tensor();
      return;
    }
    numbers extents = extents_of(i);
    if (!t.null() && std::ranges::equal(t.extents(), extents)) return;
    for (const std::size_t other : t_.details[i].may_be) {
      const auto& same = value_at<any_tensor>(request_, other);
      const bool fits = same.type() == type_of(i) && std::ranges::equal(same.extents(), extents);
      if (fits && one_in(3)) {
        t = same;
        return;
      }
    }
    t = view(i, std::move(extents));
  }

  dtype type_of(std::size_t i) {
    const auto known = types_.find(static_cast<std::uint16_t>(i));
    return known != types_.end() ? known->second : any_type_;
  }
  any_tensor view(std::size_t i, numbers extents) {
    return from_.views_(type_of(i), shape(std::span(extents)), strides_for(i, extents),
                        t_.details[i].in_host_memory ? memory_space::host : memory_space::device);
  }
  numbers strides_for(std::size_t i, const numbers& extents) {
    const std::size_t rank = extents.size();
    const auto gap = static_cast<std::int64_t>(one_in(2) ? below(4) : 0);
    numbers strides = row_major(extents, gap);
    const auto turn_last_two = [&] {
      strides = extents;
      std::swap(strides[rank - 1], strides[rank - 2]);
      strides = row_major(strides, gap);
      std::swap(strides[rank - 1], strides[rank - 2]);
    };
    switch (t_.details[i].layout) {
      case layout::packed:
        return row_major(extents, 0);
      case layout::dense:
        strides = row_major(extents, 0);
        if (one_in(2)) {
          strides = row_major(numbers(extents.rbegin(), extents.rend()), 0);
          std::ranges::reverse(strides);
        }
        return strides;
      case layout::vector:
        if (one_in(2)) strides[0] = static_cast<std::int64_t>(1 + below(4));
        break;
      case layout::matrix:
        if (rank >= 2 && one_in(2)) turn_last_two();
        break;
      case layout::column_major:
        if (rank >= 2) turn_last_two();
        break;
      case layout::any:
        if (rank >= 2 && one_in(3)) turn_last_two();
        if (rank >= 1 && one_in(4) && role_of(t_, t_.fields[i], request_) == access::read)
          strides[below(rank)] = 0;
        break;
    }
    return strides;
  }

  // A field without a meaning here has its default.
  void only(std::size_t i) {
    const field_details& d = t_.details[i];
    const field& f = t_.fields[i];
    if (std::ranges::all_of(d.only_where, [&](int c) { return holds(c); })) return;
    const auto reset = [&]<class T>(T& mine) { mine = value_at<T>(t_.defaults, f.offset); };
    switch (f.kind) {
      case field_kind::tensor:
        return reset(tensor(i));
      case field_kind::tensors:
        return reset(at<std::vector<any_tensor>>(i));
      case field_kind::scalar:
        return reset(at<scalar>(i));
      case field_kind::integer:
        return reset(at<std::int64_t>(i));
      case field_kind::unsigned_integer:
        return reset(at<std::uint64_t>(i));
      case field_kind::real:
        return reset(at<double>(i));
      case field_kind::boolean:
        return reset(at<bool>(i));
      case field_kind::enumeration:
        std::memcpy(&at<std::byte>(i), static_cast<const std::byte*>(t_.defaults) + f.offset,
                    f.enumeration_bytes);
        return;
      case field_kind::text:
        return reset(at<std::string>(i));
      case field_kind::integers:
        return reset(at<numbers>(i));
      case field_kind::scalars:
        return reset(at<std::vector<scalar>>(i));
      case field_kind::groups:
        t_.lists[static_cast<std::size_t>(f.groups)].type->resize(&at<std::byte>(i), 0);
        return;
    }
  }

  random_requests& from_;
  const description_table& t_;
  void* request_;
  std::map<std::uint16_t, dtype> types_;
  dtype any_type_{};
  std::size_t list_length_ = 0;
  std::vector<numbers> sizes_;          ///< by symbol
  std::map<std::size_t, bool> wanted_;  ///< of what is optional, by field
};

// For what descriptions do not say. Now and then one is what is drawn for any list of numbers.
void random_requests::fill(const request_type& type, void* request) {
  fill(*type.fields, request);
  if (one_in(8)) return;
  for (const auto draw : {draw_program, draw_graph, draw_rnn, draw_convolution, draw_pooling,
                          draw_sparse, draw_modes, draw_collective}) {
    if (draw(type, request, random_, views_)) return;
  }
}

void random_requests::fill(const description_table& table, void* request) {
  drawing(*this, table, request).run();
}

}  // namespace troupe::testing_requests
