#include "libraries/collective/requests/rank_lists.hpp"

#include <troupe/collective/distribution.hpp>

namespace troupe::collective {
namespace {

using form = rank_lists::extent_of;

}  // namespace

void broadcast::describe(description<broadcast>& d) {
  d.about("Copies the tensor of one rank to all ranks: y[r] = x[root].");
  d.reads("x", &broadcast::x, {}, "the root's tensor").optional();
  d.writes("y", &broadcast::y, {}, "copy on each rank");
  d.derived(
      &broadcast::y, +[](const broadcast& r) { return forms_like(r.x, r.part, 1, 1, r.root); });
  d.value("root", &broadcast::root, "rank whose tensor is copied").at_least(0);
  d.group("part", &broadcast::part);
  d.rule(
      "only the root gives x; all have the same type and extents; the root's y may be its x",
      +[](argument_checks& check, const broadcast& r) {
        rank_lists lists(check, r.part);
        lists.root(r.root)
            .list("x", r.x, form::any, r.root)
            .list("y", r.y, form::any)
            .together(r.x, 1, r.y, 1)
            .same_extents(r.x, r.y)
            .apart(r.x, r.y, true);
      });
}

void all_gather::describe(description<all_gather>& d) {
  d.about("Gives each rank the tensors of all ranks, one after the other.");
  d.reads("x", &all_gather::x, {}, "tensor of each rank");
  d.writes("y", &all_gather::y, {}, "all of them, on each rank");
  d.derived(
      &all_gather::y, +[](const all_gather& r) { return forms_like(r.x, r.part, r.part.ranks()); });
  d.group("part", &all_gather::part);
  d.rule(
      "the tensors of an item are packed and of one type; y has n times as many elements as x",
      +[](argument_checks& check, const all_gather& r) {
        rank_lists lists(check, r.part);
        lists.list("x", r.x, form::packed)
            .list("y", r.y, form::packed)
            .together(r.x, lists.ranks(), r.y, 1)
            .apart(r.x, r.y, false);
      });
}

void gather::describe(description<gather>& d) {
  d.about("Gives one rank the tensors of all ranks, one after the other.");
  d.reads("x", &gather::x, {}, "tensor of each rank");
  d.writes("y", &gather::y, {}, "all of them, on the root").optional();
  d.value("root", &gather::root, "rank that gets them").at_least(0);
  d.group("part", &gather::part);
  d.rule(
      "only the root gives y; packed and of one type; y has n times as many elements as x",
      +[](argument_checks& check, const gather& r) {
        rank_lists lists(check, r.part);
        lists.root(r.root)
            .list("x", r.x, form::packed)
            .list("y", r.y, form::packed, r.root)
            .together(r.x, lists.ranks(), r.y, 1)
            .apart(r.x, r.y, false);
      });
}

void scatter::describe(description<scatter>& d) {
  d.about("Gives each rank its part of one rank's tensor.");
  d.reads("x", &scatter::x, {}, "the root's tensor").optional();
  d.writes("y", &scatter::y, {}, "part on each rank");
  d.derived(
      &scatter::y,
      +[](const scatter& r) { return forms_like(r.x, r.part, 1, r.part.ranks(), r.root); });
  d.value("root", &scatter::root, "rank whose tensor is divided").at_least(0);
  d.group("part", &scatter::part);
  d.rule(
      "only the root gives x; packed and of one type; x has n times as many elements as y",
      +[](argument_checks& check, const scatter& r) {
        rank_lists lists(check, r.part);
        lists.root(r.root)
            .list("x", r.x, form::packed, r.root)
            .list("y", r.y, form::packed)
            .together(r.x, 1, r.y, lists.ranks())
            .apart(r.x, r.y, false);
      });
}

}  // namespace troupe::collective
