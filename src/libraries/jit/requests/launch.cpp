#include "libraries/jit/requests/launch_rules.hpp"

#include <troupe/jit/launch.hpp>

#include <utility>

namespace troupe::jit {
namespace {

void grid_fits(argument_checks& check, const launch& r) {
  const dims& g = r.grid;
  const dims& c = r.cluster;
  check.rule(g.x <= most_blocks_x && g.y <= most_blocks_yz && g.z <= most_blocks_yz,
             errc::invalid_argument, [&] {
               return fmt::format("grid is {}, it must be 1 to {} x {} x {}", text(g),
                                  most_blocks_x, most_blocks_yz, most_blocks_yz);
             });
  check.rule(g.x % c.x == 0 && g.y % c.y == 0 && g.z % c.z == 0, errc::invalid_argument,
             [&] { return fmt::format("grid {} is no multiple of cluster {}", text(g), text(c)); });
}

void waits_or_not(argument_checks& check, const launch& r) {
  check.rule(!(r.cooperative && r.programmatic), errc::invalid_argument, [] {
    return std::string(
        "a cooperative launch waits for the kernel before it: it cannot be programmatic");
  });
}

void arguments_fit(argument_checks& check, const launch& r) {
  if (!check.good()) return;
  if (auto fits = r.kernel.check(r.arguments); !fits) {
    error why = std::move(fits).error();
    check.rule(false, why.code, [&] { return std::move(why.message); });
  }
}

}  // namespace

void dims::describe(description<dims>& d) {
  d.value("x", &dims::x, "the innermost").at_least(1);
  d.value("y", &dims::y, "the middle one").at_least(1);
  d.value("z", &dims::z, "the outermost").at_least(1);
}

void launch::describe(description<launch>& d) {
  d.about("Launches a kernel of the user's own.", "cuLaunchKernelEx");
  d.group("kernel", &launch::kernel);
  d.group("grid", &launch::grid);
  describe_block(d);
  d.value("cooperative", &launch::cooperative, "all blocks run at once");
  d.value("programmatic", &launch::programmatic,
          "may begin before the kernel in front of it in its lane has ended");
  d.group("arguments", &launch::arguments);
  d.keeps_on_failure();  // a launch that fails has run nothing
  d.rule("a grid has 2^31 − 1 blocks along x at most, 65 535 along y and z, and whole clusters",
         grid_fits);
  d.rule("a cooperative launch is not programmatic", waits_or_not);
  d.rule("count and types of the arguments are the kernel's, as far as its name tells them",
         arguments_fit);
}

}  // namespace troupe::jit
