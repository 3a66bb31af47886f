#include "libraries/collective/requests/rank_lists.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::collective {
namespace {

bool is_dense(const any_tensor& t) noexcept {
  if (t.packed()) return true;
  const any_tensor::byte_range reach = t.reach();
  return t.injective() && t.count() * size_of(t.type()) == reach.end - reach.begin;
}

bool combines_type(reduction op, dtype type) noexcept {
  if (is_complex(type)) return op == reduction::sum || op == reduction::avg;
  if (type == dtype::boolean) return op == reduction::min || op == reduction::max;
  const bool is_eighth = type == dtype::e4m3 || type == dtype::e5m2;
  return !(is_eighth && op == reduction::prod);
}

std::string_view name_of(reduction op) noexcept {
  constexpr std::string_view names[] = {"sum", "prod", "min", "max", "avg"};
  return names[static_cast<std::size_t>(op)];
}

}  // namespace

std::size_t first_of(const std::vector<any_tensor>& all, std::size_t item,
                     std::size_t ranks) noexcept {
  for (std::size_t k = item * ranks; k < (item + 1) * ranks; ++k) {
    if (!all[k].null()) return k;
  }
  return item * ranks;
}

result<std::vector<tensor_form>> forms_like(const std::vector<any_tensor>& x,
                                            const world_part& part, std::int64_t times,
                                            std::int64_t by, std::int64_t root) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  std::vector<tensor_form> forms;
  if (ranks == 0 || root < rank_lists::everywhere || root >= part.ranks()) return forms;
  for (std::size_t k = 0; k < x.size() / ranks * ranks; ++k) {
    const std::size_t from =
        root == rank_lists::everywhere ? k : k - k % ranks + static_cast<std::size_t>(root);
    std::vector<std::int64_t> extents(x[from].extents().begin(), x[from].extents().end());
    if (extents.empty() && times > 1) extents.push_back(1);
    if (!extents.empty()) extents.front() = extents.front() * times / by;
    forms.push_back({.type = x[from].type(), .extents = shape(std::span(extents))});
  }
  return forms;
}

std::string rank_lists::at(std::string_view name, std::size_t k) {
  return fmt::format("{}[{}]", name, k);
}

rank_lists::rank_lists(argument_checks& to, const world_part& part)
    : to_(to), ranks_(part.ranks()) {
  to_.rule(ranks_ > 0, errc::unsupported, [] {
    return std::string("it is a request for several devices: send it to a world (system::world)");
  });
  to_.rule(part.rank < std::max<std::int64_t>(ranks_, 1), errc::invalid_argument, [&] {
    return fmt::format("part.rank is {}, but there are words of {} ranks", part.rank, ranks_);
  });
}

rank_lists& rank_lists::root(std::int64_t rank) {
  to_.rule(rank >= 0 && rank < std::max<std::int64_t>(ranks_, 1), errc::invalid_argument,
           [&] { return fmt::format("root must be a rank, 0 to {}; it is {}", ranks_ - 1, rank); });
  return *this;
}

rank_lists& rank_lists::whole_items(std::string_view name, const std::vector<any_tensor>& all) {
  to_.rule(!all.empty() && all.size() % per_item() == 0, errc::invalid_argument, [&] {
    return fmt::format(
        "{} must hold a tensor per rank for each item; it holds {}, and there are {} "
        "ranks",
        name, all.size(), ranks_);
  });
  return *this;
}

rank_lists& rank_lists::one_each(std::string_view name, const std::vector<any_tensor>& all) {
  whole_items(name, all);
  for (std::size_t k = 0; to_.good() && k < all.size(); k += per_item()) {
    const auto given = std::ranges::count_if(std::span(all).subspan(k, per_item()),
                                             [](const any_tensor& t) { return !t.null(); });
    to_.rule(given == 1, errc::invalid_argument, [&] {
      return fmt::format("{} must hold one tensor for each item; item {} has {}", name,
                         k / per_item(), given);
    });
  }
  return *this;
}

rank_lists& rank_lists::list(std::string_view name, const std::vector<any_tensor>& all,
                             extent_of form, std::int64_t root) {
  const std::size_t ranks = per_item();
  whole_items(name, all);
  for (std::size_t k = 0; to_.good() && k < all.size(); ++k) {
    const any_tensor& t = all[k];
    const bool is_wanted = root == everywhere || static_cast<std::int64_t>(k % ranks) == root;
    to_.rule(t.null() != is_wanted, errc::invalid_argument, [&] {
      return is_wanted ? fmt::format("{} must be given", at(name, k))
                       : fmt::format("{} must not be given: only rank {}, the root, has one",
                                     at(name, k), root);
    });
    if (!to_.good() || t.null()) continue;
    const any_tensor& first = all[first_of(all, k / ranks, ranks)];
    to_.rule(t.type() == first.type(), errc::type_mismatch, [&] {
      return fmt::format("{} must have the type of the other ranks, {}; it has {}", at(name, k),
                         to_string(first.type()), to_string(t.type()));
    });
    to_.rule(std::ranges::equal(t.extents(), first.extents()), errc::shape_mismatch, [&] {
      return fmt::format("{} must have the extents of the other ranks, {}; it is {}", at(name, k),
                         first.to_string(), t.to_string());
    });
    const bool fits = form == extent_of::any || (form == extent_of::packed && t.packed()) ||
                      (form == extent_of::same && is_dense(t) &&
                       std::ranges::equal(t.strides(), first.strides()));
    to_.rule(fits || t.count() <= 1, errc::layout_unsupported, [&] {
      return fmt::format("{} must {}; it is {} (a copy packs it)", at(name, k),
                         form == extent_of::packed
                             ? "be packed, row-major"
                             : "have no gaps, and the strides of the other ranks",
                         t.to_string());
    });
  }
  return *this;
}

rank_lists& rank_lists::together(const std::vector<any_tensor>& x, std::int64_t x_times,
                                 const std::vector<any_tensor>& y, std::int64_t y_times) {
  to_.rule(x.size() == y.size(), errc::invalid_argument, [&] {
    return fmt::format("x and y must hold equally many tensors; they hold {} and {}", x.size(),
                       y.size());
  });
  const std::size_t ranks = per_item();
  for (std::size_t item = 0; to_.good() && item < x.size() / ranks; ++item) {
    const std::size_t from = first_of(x, item, ranks), to = first_of(y, item, ranks);
    const any_tensor &a = x[from], &b = y[to];
    to_.rule(a.type() == b.type(), errc::type_mismatch, [&] {
      return fmt::format("{} must have the type of {}, {}; it has {}", at("y", to), at("x", from),
                         to_string(a.type()), to_string(b.type()));
    });
    to_.rule(a.count() * x_times == b.count() * y_times, errc::shape_mismatch, [&] {
      return fmt::format(
          "{} must have {} elements, because {} is {} and there are {} ranks; it is {}",
          at("y", to),
          y_times > 1 ? fmt::format("1/{} as many", y_times)
                      : fmt::format("{}", a.count() * x_times),
          at("x", from), a.to_string(), ranks_, b.to_string());
    });
  }
  return *this;
}

rank_lists& rank_lists::same_extents(const std::vector<any_tensor>& x,
                                     const std::vector<any_tensor>& y) {
  const std::size_t ranks = per_item();
  for (std::size_t item = 0; to_.good() && item < x.size() / ranks; ++item) {
    const std::size_t from = first_of(x, item, ranks), to = first_of(y, item, ranks);
    const any_tensor &a = x[from], &b = y[to];
    to_.rule(std::ranges::equal(a.extents(), b.extents()), errc::shape_mismatch, [&] {
      return fmt::format("{} must have the extents of {}, {}; it is {}", at("y", to), at("x", from),
                         a.to_string(), b.to_string());
    });
  }
  return *this;
}

rank_lists& rank_lists::as_x(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y) {
  same_extents(x, y);
  const std::size_t ranks = per_item();
  for (std::size_t item = 0; to_.good() && item < x.size() / ranks; ++item) {
    const std::size_t from = first_of(x, item, ranks), to = first_of(y, item, ranks);
    const any_tensor &a = x[from], &b = y[to];
    const bool fits = a.count() <= 1 || std::ranges::equal(a.strides(), b.strides());
    to_.rule(fits, errc::layout_unsupported, [&] {
      return fmt::format("{} must have the strides of {}, {}; it is {}", at("y", to), at("x", from),
                         a.to_string(), b.to_string());
    });
  }
  return *this;
}

rank_lists& rank_lists::each(std::string_view name, const std::vector<any_tensor>& all) {
  to_.rule(static_cast<std::int64_t>(all.size()) == ranks_, errc::invalid_argument, [&] {
    return fmt::format("{} must hold a tensor per rank; it holds {}, and there are {} ranks", name,
                       all.size(), ranks_);
  });
  for (std::size_t k = 0; to_.good() && k < all.size(); ++k) {
    to_.rule(!all[k].null(), errc::invalid_argument,
             [&] { return fmt::format("{} must be given", at(name, k)); });
    to_.rule(all[k].type() == all[0].type(), errc::type_mismatch, [&] {
      return fmt::format("{} must have the type of the other ranks, {}; it has {}", at(name, k),
                         to_string(all[0].type()), to_string(all[k].type()));
    });
    to_.rule(all[k].packed(), errc::layout_unsupported, [&] {
      return fmt::format("{} must be packed, row-major; it is {}", at(name, k), all[k].to_string());
    });
  }
  return *this;
}

// Tensors of different ranks are on different devices.
rank_lists& rank_lists::apart(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y,
                              bool may_be) {
  const std::size_t ranks = per_item();
  for (std::size_t k = 0; to_.good() && k < y.size(); ++k) {
    if (y[k].null()) continue;
    // Names are made for tensors of one buffer alone, because all but wrong requests need none.
    const auto check = [&](std::string_view list, std::size_t other, const any_tensor& with) {
      if (!with.null() && with.buffer().get() == y[k].buffer().get())
        to_.apart({at("y", k), y[k]}, {at(list, other), with});
    };
    for (std::size_t other = k % ranks; other < y.size(); other += ranks) {
      if (!may_be || other != k || !y[k].same_view(x[other])) check("x", other, x[other]);
      if (other > k) check("y", other, y[other]);
    }
  }
  return *this;
}

rank_lists& rank_lists::combines(const std::vector<any_tensor>& x, reduction op, double factor) {
  for (const any_tensor& t : x) {
    if (!to_.good()) break;
    to_.rule(combines_type(op, t.type()), errc::type_mismatch, [&] {
      return fmt::format("op {} is not there for {}", name_of(op), to_string(t.type()));
    });
    may_scale_ = (is_float(t.type()) || is_complex(t.type())) &&
                 (op == reduction::sum || op == reduction::avg);
    to_.rule(factor == 1.0 || may_scale_, errc::invalid_argument, [&] {
      return fmt::format("factor must be 1 for {} of {}; it is {}", name_of(op),
                         to_string(t.type()), factor);
    });
  }
  return *this;
}

rank_lists& rank_lists::scales(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y,
                               double factor, const std::vector<any_tensor>& factors) {
  if (!to_.good() || factors.empty()) return *this;
  to_.rule(may_scale_, errc::invalid_argument, [] {
    return std::string(
        "factors must not be given: they are there for sum and avg of floating and complex types");
  });
  to_.rule(factor == 1.0, errc::invalid_argument,
           [&] { return fmt::format("factor must be 1 beside factors; it is {}", factor); });
  to_.rule(factors.size() == per_item(), errc::invalid_argument, [&] {
    return fmt::format("factors must hold a tensor per rank; it holds {}, and there are {} ranks",
                       factors.size(), ranks_);
  });
  for (std::size_t k = 0; to_.good() && k < x.size(); ++k) {
    const std::size_t rank = k % per_item();
    const std::string name = at("factors", rank);
    const any_tensor& t = factors[rank];
    const bool is_double = x[k].type() == dtype::f64 || x[k].type() == dtype::c128;
    const dtype wanted = is_double ? dtype::f64 : dtype::f32;
    to_.rule(!t.null() && t.count() == 1, errc::shape_mismatch,
             [&] { return fmt::format("{} must have one element", name); });
    to_.rule(t.null() || t.type() == wanted, errc::type_mismatch, [&] {
      return fmt::format("{} must be {}, because {} is {}; it is {}", name, to_string(wanted),
                         at("x", k), to_string(x[k].type()), to_string(t.type()));
    });
    if (to_.good() && !y[k].null()) to_.apart({at("y", k), y[k]}, {name, t});
  }
  return *this;
}

}  // namespace troupe::collective
