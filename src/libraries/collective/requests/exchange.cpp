#include "libraries/collective/requests/rank_lists.hpp"

#include <troupe/collective/exchange.hpp>

#include <fmt/format.h>

namespace troupe::collective {
namespace {

using form = rank_lists::extent_of;

// The parts that each rank sends and receives fit its tensors.
void check_counts(argument_checks& check, const all_to_allv& r) {
  const std::int64_t n = r.part.ranks();
  const auto size = static_cast<std::int64_t>(r.counts.size());
  check.rule(size == n * n, errc::invalid_argument, [&] {
    return fmt::format("counts must hold {} × {} numbers; it holds {}", n, n, size);
  });
  if (!check.good()) return;
  for (std::size_t i = 0; i < r.counts.size(); ++i) {
    check.rule(r.counts[i] >= 0 && r.counts[i] <= max_elements, errc::invalid_argument, [&] {
      return fmt::format("counts[{}] must be 0 to {}; it is {}", i, max_elements, r.counts[i]);
    });
  }
  for (std::int64_t rank = 0; check.good() && rank < n; ++rank) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::int64_t peer = 0; peer < n; ++peer) {
      sent += r.counts[static_cast<std::size_t>(rank * n + peer)];
      received += r.counts[static_cast<std::size_t>(peer * n + rank)];
    }
    const auto fits = [&](std::string_view name, const any_tensor& t, std::int64_t wanted) {
      check.rule(t.count() >= wanted, errc::shape_mismatch, [&] {
        return fmt::format("{}[{}] must have at least {} elements (counts); it is {}", name, rank,
                           wanted, t.to_string());
      });
    };
    fits("x", r.x[static_cast<std::size_t>(rank)], sent);
    fits("y", r.y[static_cast<std::size_t>(rank)], received);
  }
}

}  // namespace

void all_to_all::describe(description<all_to_all>& d) {
  d.about("Gives each rank its part of every rank's tensor.");
  d.reads("x", &all_to_all::x, {}, "tensor of each rank, a part for each");
  d.writes("y", &all_to_all::y, {}, "tensor of each rank, a part from each");
  d.derived(&all_to_all::y, +[](const all_to_all& r) { return forms_like(r.x, r.part); });
  d.group("part", &all_to_all::part);
  d.rule(
      "packed, of one type, and equally many elements: a multiple of n",
      +[](argument_checks& check, const all_to_all& r) {
        rank_lists lists(check, r.part);
        lists.list("x", r.x, form::packed)
            .list("y", r.y, form::packed)
            .together(r.x, 1, r.y, 1)
            .apart(r.x, r.y, false);
        for (const any_tensor& t : r.x) {
          if (!check.good()) return;
          check.rule(t.count() % lists.ranks() == 0, errc::shape_mismatch, [&] {
            return fmt::format("x must have a multiple of {} elements; it is {}", lists.ranks(),
                               t.to_string());
          });
        }
      });
}

void all_to_allv::describe(description<all_to_allv>& d) {
  d.about("Gives each rank its part of every rank's tensor, of any length.");
  d.reads("x", &all_to_allv::x, {}, "tensor of each rank, a part for each");
  d.writes("y", &all_to_allv::y, {}, "tensor of each rank, a part from each");
  d.value("counts", &all_to_allv::counts, "elements from each rank (row) to each (column)");
  d.group("part", &all_to_allv::part);
  d.rule(
      "packed and of one type; the parts fit; one item",
      +[](argument_checks& check, const all_to_allv& r) {
        rank_lists lists(check, r.part);
        lists.each("x", r.x).each("y", r.y).apart(r.x, r.y, false);
        if (!check.good()) return;
        check.same_type({"y[0]", r.y[0]}, {"x[0]", r.x[0]});
        if (check.good()) check_counts(check, r);
      });
}

void exchange::describe(description<exchange>& d) {
  d.about("Copies tensors between ranks, any set of copies: each is an item.");
  d.reads("x", &exchange::x, {}, "source of each copy, on its rank").optional();
  d.writes("y", &exchange::y, {}, "destination of each copy, on its rank").optional();
  d.group("part", &exchange::part);
  d.rule(
      "each item has one x and one y, of the same type and extents",
      +[](argument_checks& check, const exchange& r) {
        rank_lists lists(check, r.part);
        lists.one_each("x", r.x)
            .one_each("y", r.y)
            .together(r.x, 1, r.y, 1)
            .same_extents(r.x, r.y)
            .apart(r.x, r.y, false);
      });
}

void barrier::describe(description<barrier>& d) {
  d.about("Ends when all ranks have begun it.");
  d.group("part", &barrier::part);
  d.rule(
      "it is sent to a world",
      +[](argument_checks& check, const barrier& r) { (void)rank_lists(check, r.part); });
}

}  // namespace troupe::collective
